// Stopping, starting, deleting, names, updates, refusals by a cluster, projects.
#include "state/testing/ledger_world.h"

namespace cubeplane::state {
namespace {

using model::Phase;
using model::WorkloadKind;
using testing::Q;
using testing::World;

const model::ResourceList kFourCores{{"requests.cpu", Q("4")}};
const WorkloadKey kNb{WorkloadKind::kNotebook, "nlp", "nb"};
const WorkloadKey kJob{WorkloadKind::kTrainingJob, "nlp", "j"};

TEST(LedgerLife, AStopOfWhatOnlyWaitsEndsAtOnce) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  ASSERT_TRUE(world.Run(world.ledger->StopWorkload(world.CallOf("ann"), kJob)));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopped);
  EXPECT_EQ(world.ledger->FindByUid(uid)->status.reason.code, "stopped_by");
  EXPECT_TRUE(world.Admit().empty());
}

TEST(LedgerLife, AJobThatWasNeverSentEndsAtOnceAndCannotBeSentAnyMore) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  world.Admit();
  ASSERT_TRUE(world.Run(world.ledger->StopWorkload(world.CallOf("ann"), kJob)));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopped);
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("0"));
  EXPECT_FALSE(world.Run(world.ledger->MarkSent(uid, 1, "i", "n")));
}

TEST(LedgerLife, WhatWasSentIsStoppedWithProof) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  world.Admit();
  ASSERT_TRUE(world.Run(world.ledger->MarkSent(uid, 1, "i", "n")));
  ASSERT_TRUE(world.Run(world.ledger->StopWorkload(world.CallOf("ann"), kJob)));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopping);
  EXPECT_EQ(world.Used("requests.cpu"), Q("1"));
  // What was seen before the stop does not undo it.
  EXPECT_FALSE(world.Run(
      world.ledger->UpdateStatus(uid, [](model::WorkloadStatus& s) { s.phase = Phase::kRunning; })));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopping);
  ASSERT_TRUE(world.End(uid, 1, Phase::kStopped));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopped);
  EXPECT_EQ(world.ledger->FindByUid(uid)->status.reason.code, "stopped_by");
  EXPECT_EQ(world.Used("requests.cpu"), Q("0"));
}

TEST(LedgerLife, ANotebookComesBackWithTheNextAttempt) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Notebook("nb", "3"));
  EXPECT_FALSE(world.Run(world.ledger->StartWorkload(world.CallOf("ann"), kNb)));
  ASSERT_TRUE(world.Run(world.ledger->StopWorkload(world.CallOf("ann"), kNb)));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopping);
  ASSERT_TRUE(world.End(uid, 1, Phase::kStopped));
  const auto other = world.MustCreate(world.Notebook("other", "2"));
  const auto refused = world.Run(world.ledger->StartWorkload(world.CallOf("ann"), kNb));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kQuotaExceeded);
  EXPECT_EQ(world.PhaseOf(uid), Phase::kStopped);
  ASSERT_TRUE(world.End(other, 1, Phase::kFailed));
  const auto started = world.Run(world.ledger->StartWorkload(world.CallOf("ann"), kNb));
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->status.phase, Phase::kAdmitted);
  EXPECT_EQ(started->status.attempts.back().number, 2);
  EXPECT_FALSE(started->spec.stopped);
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("3"));
}

TEST(LedgerLife, ADeletedOneGoesOnceItHasEnded) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Notebook("nb"));
  ASSERT_TRUE(world.Run(world.ledger->DeleteWorkload(world.CallOf("ann"), kNb)));
  EXPECT_FALSE(world.Run(world.ledger->Forget(uid)));
  ASSERT_TRUE(world.End(uid, 1, Phase::kStopped));
  ASSERT_TRUE(world.Run(world.ledger->Forget(uid)));
  ASSERT_TRUE(world.Run(world.ledger->Forget(uid)));
  EXPECT_FALSE(world.ledger->FindByUid(uid));
  EXPECT_TRUE(world.ledger->Workloads().empty());
  // The ledger itself stays.
  using Rows = std::vector<storage::ReservationRow>;
  EXPECT_FALSE(world.Read<Rows>([&](storage::Reader& reader) { return reader.ReservationsOf(uid); }).empty());
}

TEST(LedgerLife, ANameGoesBackToItsOwnerOnly) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  const auto taken = world.Create(world.Job("j"), "bob");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kAlreadyExists);
  ASSERT_TRUE(world.Run(world.ledger->DeleteWorkload(world.CallOf("ann"), kJob)));
  ASSERT_TRUE(world.Run(world.ledger->Forget(uid)));
  // A step of the wall clock does not shorten it.
  world.clock.Step(std::chrono::hours(24 * 365));
  const auto kept = world.Create(world.Job("j"), "bob");
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kForbidden);
  EXPECT_EQ(kept.error().reason, "workload_name_kept");
  const auto again = world.Create(world.Job("j"), "ann");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(world.Run(world.ledger->DeleteWorkload(world.CallOf("ann"), kJob)));
  ASSERT_TRUE(world.Run(world.ledger->Forget(again->object.metadata.uid)));
  world.clock.Advance(std::chrono::hours(24 * 30 + 1));
  EXPECT_TRUE(world.Create(world.Job("j"), "bob"));
}

TEST(LedgerLife, AClustersRefusalKeepsThePlaceAndBacksOff) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto first = world.MustCreate(world.Job("first", "3"));
  world.Admit();
  const auto second = world.MustCreate(world.Job("second", "1"));
  world.Admit();
  const auto third = world.MustCreate(world.Job("third", "1"));
  ASSERT_TRUE(world.Run(
      world.ledger->ClusterRefused(second, 1, {"cluster_refused", {{"message", "exceeded quota"}}})));
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("3"));
  EXPECT_TRUE(world.Admit().empty());
  EXPECT_EQ(world.ledger->FindByUid(second)->status.place, 1);
  EXPECT_EQ(world.ledger->FindByUid(second)->status.reason.code, "cluster_refused");
  EXPECT_EQ(world.ledger->FindByUid(third)->status.place, 2);
  world.clock.Advance(std::chrono::seconds(6));
  const auto admitted = world.Admit();
  ASSERT_EQ(admitted.size(), 1u);
  EXPECT_EQ(admitted[0]->metadata.uid, second);
  EXPECT_EQ(admitted[0]->status.attempts.back().number, 1);  // nothing had run
  // Or as soon as something is given back.
  ASSERT_TRUE(
      world.Run(world.ledger->ClusterRefused(second, 1, {"cluster_refused", {{"message", "again"}}})));
  ASSERT_TRUE(world.End(first, 1, Phase::kSucceeded));
  EXPECT_EQ(world.Admit().size(), 2u);
}

TEST(LedgerLife, OnlyLabelsAndAnnotationsChange) {
  World world;
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Job("j", "1"));
  auto update = [&](model::Workload workload, std::optional<int64_t> version = std::nullopt) {
    return world.Run(world.ledger->UpdateWorkload(world.CallOf("ann"), std::move(workload), version));
  };
  const auto same = update(world.Job("j", "1"));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(same->unchanged);
  auto labelled = world.Job("j", "1");
  labelled.metadata.labels["team"] = "a";
  const auto changed = update(labelled);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_FALSE(changed->unchanged);
  const auto refused = update(world.Job("j", "2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "spec_immutable");
  EXPECT_EQ(refused.error().fields.at(0).path, "spec.resources.cpu");
  const auto stale = update(labelled, 1);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, Code::kConflict);
}

TEST(LedgerLife, AProjectWithWorkIsNotDeleted) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  const auto refused = world.Run(world.ledger->DeleteProject(world.CallOf("admin"), "nlp"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "project_not_empty");
  ASSERT_TRUE(world.Run(world.ledger->DeleteWorkload(world.CallOf("ann"), kJob)));
  ASSERT_TRUE(world.Run(world.ledger->Forget(uid)));
  ASSERT_TRUE(world.Run(world.ledger->DeleteProject(world.CallOf("admin"), "nlp")));
  EXPECT_FALSE(world.ledger->FindProject("nlp"));
  EXPECT_EQ(world.Create(world.Job("j")).error().reason, "project_not_found");
}

TEST(LedgerLife, ABindingWithWorkIsNotTakenAway) {
  World world;
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Notebook("nb"));
  auto bare = world.ProjectOf("nlp", {});
  bare.spec.bindings.clear();
  const auto refused = world.Run(world.ledger->ApplyProject(world.CallOf("admin"), bare, std::nullopt));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "binding_in_use");
}

TEST(LedgerLife, AProjectIsReplacedOnlyByWhoHasSeenIt) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const int64_t version = world.ledger->FindProject("nlp")->metadata.resource_version;
  auto apply = [&](const char* cpu, std::optional<int64_t> expected) {
    return world.Run(world.ledger->ApplyProject(
        world.CallOf("admin"), world.ProjectOf("nlp", {{"requests.cpu", Q(cpu)}}), expected));
  };
  EXPECT_EQ(apply("5", 0).error().code, Code::kAlreadyExists);
  const auto changed = apply("5", version);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->object.metadata.generation, 2);
  EXPECT_EQ(apply("6", version).error().code, Code::kConflict);
  EXPECT_TRUE(apply("5", std::nullopt)->unchanged);
}

TEST(LedgerLife, ListenersHearEachCommitInOrderWithItsVersion) {
  World world;
  std::vector<int64_t> heard;
  const size_t id = world.ledger->OnChange([&](const WatchEvent& event) {
    heard.push_back(event.seq);
    EXPECT_EQ(event.object.At("metadata.resourceVersion").AsString(), std::to_string(event.seq));
  });
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Job("j"));
  world.Admit();
  world.ledger->RemoveListener(id);
  world.MustCreate(world.Job("k"));
  EXPECT_EQ(heard, (std::vector<int64_t>{1, 2, 3}));
  const auto after = world.Run(world.ledger->EventsAfter(2, 10));
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 2u);
  EXPECT_EQ(after->front().seq, 3);
  EXPECT_EQ(world.Run(world.ledger->EventsAfter(99, 10)).error().code, Code::kGone);
}

TEST(LedgerLife, WhatStillHoldsQuotaIsNotAdmittedAgain) {  // law 2, against rows that a bug would leave
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  ASSERT_TRUE(world.Run(world.store->Write([uid](storage::Txn& txn) {
    return txn.Reserve(
        {{uid, 7, "elsewhere", "", "pods", Quantity::FromInt(1), storage::ReservationState::kSent}});
  })));
  const auto refused = world.Run(world.ledger->AdmitWaiting());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInternal);
  EXPECT_EQ(world.PhaseOf(uid), Phase::kWaiting);
}

}  // namespace
}  // namespace cubeplane::state
