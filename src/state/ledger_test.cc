#include "state/ledger.h"

#include "scheduler/pod_resources.h"
#include "state/entry.h"
#include "state/testing/ledger_world.h"
#include "storage/audit.h"

namespace cubeplane::state {
namespace {

using model::Phase;
using testing::Q;
using testing::World;

const model::ResourceList kFourCores{{"requests.cpu", Q("4")}, {"limits.cpu", Q("4")}};

std::string Param(const Params& params, const std::string& name) {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  return "";
}

TEST(Host, NamesWorkloadAndProject) { EXPECT_EQ(HostOf("nb", "demo", "localhost"), "nb--demo.localhost"); }

TEST(Ledger, ANotebookIsAdmittedInTheCommitThatAcceptsIt) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto made = world.Create(world.Notebook("nb", "3"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->created);
  EXPECT_EQ(made->object.status.phase, Phase::kAdmitted);
  ASSERT_EQ(made->object.status.attempts.size(), 1u);
  EXPECT_EQ(made->object.status.attempts[0].number, 1);
  EXPECT_EQ(made->object.status.attempts[0].cluster, "local");
  EXPECT_EQ(world.Used("requests.cpu"), Q("3"));
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("3"));
}

TEST(Ledger, ARefusalNamesResourceRequestedUsedAndLimited) {
  World world;
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Notebook("a", "3"));
  const auto refused = world.Create(world.Notebook("b", "2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kQuotaExceeded);
  EXPECT_EQ(refused.error().reason, "quota_exceeded");
  EXPECT_EQ(
      refused.error().message.substr(0, 119),
      "exceeded quota: quota-nlp, requested: limits.cpu=2,requests.cpu=2, used: limits.cpu=3,requests.cpu=3, "
      "limited: limits.c");
  EXPECT_EQ(Param(refused.error().params, "limited"), "limits.cpu=4,requests.cpu=4");
  EXPECT_FALSE(world.ledger->Find({model::WorkloadKind::kNotebook, "nlp", "b"}));
  // The change that it names is enough.
  EXPECT_TRUE(world.Create(world.Notebook("b", "1")));
}

TEST(Ledger, WhatCanNeverFitIsRefusedAtOnce) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto refused = world.Create(world.Job("big", "5"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kQuotaExceeded);
  world.ledger->settings().node_allocatable["local"] = {{{"cpu", Q("2")}, {"memory", Q("8Gi")}}};
  const auto too_large = world.Create(world.Job("wide", "3"));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().reason, "never_fits_node");
}

TEST(Ledger, WithoutABindingItIsSaid) {
  World world;
  auto project = world.ProjectOf("nlp", {});
  project.spec.bindings.clear();
  ASSERT_TRUE(world.Run(world.ledger->ApplyProject(world.CallOf("admin"), project, std::nullopt)));
  const auto refused = world.Create(world.Job("j"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "no_bindings");
}

TEST(Ledger, JobsAreServedInOrderOfArrivalAndSeeTheirPlaces) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto first = world.MustCreate(world.Job("first", "3"));
  const auto second = world.MustCreate(world.Job("second", "2"));
  const auto third = world.MustCreate(world.Job("third", "1"));
  const auto admitted = world.Admit();
  ASSERT_EQ(admitted.size(), 1u);
  EXPECT_EQ(admitted[0]->metadata.uid, first);
  // The third would fit, and waits for the second.
  EXPECT_EQ(world.ledger->FindByUid(second)->status.place, 1);
  EXPECT_EQ(world.ledger->FindByUid(third)->status.place, 2);
  const model::WorkloadStatus& status = world.ledger->FindByUid(second)->status;
  EXPECT_TRUE(status.reason.code.starts_with("quota_short")) << status.reason.code;
  EXPECT_EQ(Param(status.reason.params, "requested"), "2");
  EXPECT_EQ(Param(status.reason.params, "used"), "3");
  EXPECT_EQ(Param(status.reason.params, "limited"), "4");
  ASSERT_TRUE(world.End(first, 1, Phase::kSucceeded));
  EXPECT_EQ(world.Admit().size(), 2u);
  EXPECT_EQ(world.ledger->FindByUid(third)->status.place, 0);
}

TEST(Ledger, ANotebookPassesWaitingJobs) {
  World world;
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Job("first", "3"));
  world.Admit();
  const auto waiting = world.MustCreate(world.Job("second", "2"));
  world.Admit();
  EXPECT_EQ(world.PhaseOf(world.MustCreate(world.Notebook("nb", "1"))), Phase::kAdmitted);
  EXPECT_EQ(world.PhaseOf(waiting), Phase::kWaiting);
}

TEST(Ledger, ANotebookMayWaitWhenAsked) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto first = world.MustCreate(world.Notebook("a", "4"));
  auto queued = world.Notebook("b", "1");
  queued.spec.queue = true;
  const auto uid = world.MustCreate(queued);
  world.Admit();
  EXPECT_EQ(world.PhaseOf(uid), Phase::kWaiting);
  ASSERT_TRUE(world.End(first, 1, Phase::kFailed));
  world.Admit();
  EXPECT_EQ(world.PhaseOf(uid), Phase::kAdmitted);
}

TEST(Ledger, ALongWaitIsShown) {
  World world;
  world.MakeProject("nlp", kFourCores);
  world.MustCreate(world.Notebook("a", "4"));
  const auto uid = world.MustCreate(world.Job("j"));
  world.clock.Advance(std::chrono::minutes(11));
  world.Admit();
  ASSERT_FALSE(world.ledger->FindByUid(uid)->status.details.empty());
  EXPECT_EQ(world.ledger->FindByUid(uid)->status.details.back().code, "waits_long");
}

TEST(Ledger, ALimitRangeThatCameLaterIsSaidAndHoldsUpNoDecision) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto holder = world.MustCreate(world.Notebook("a", "4"));
  const auto uid = world.MustCreate(world.Job("j", "2"));
  auto project = world.ProjectOf("nlp", kFourCores);
  project.spec.bindings[0].limit_range.max = {{"cpu", Q("1")}};
  ASSERT_TRUE(world.Run(world.ledger->ApplyProject(world.CallOf("admin"), project, std::nullopt)));
  ASSERT_TRUE(world.End(holder, 1, Phase::kFailed));
  EXPECT_TRUE(world.Admit().empty());
  EXPECT_EQ(world.ledger->FindByUid(uid)->status.reason.code, "limit_range_refused");
  world.MakeProject("nlp", kFourCores);
  EXPECT_EQ(world.Admit().size(), 1u);
}

TEST(Ledger, WaitingIsBounded) {
  World world(":memory:", {.max_waiting_per_project = 3});
  world.MakeProject("nlp", kFourCores);
  for (const char* name : {"a", "b", "c"}) world.MustCreate(world.Job(name));
  const auto refused = world.Create(world.Job("d"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTooMany);
  EXPECT_EQ(refused.error().reason, "too_many_waiting");
}

TEST(Ledger, AnEndReleasesOnce) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto a = world.MustCreate(world.Notebook("a", "2"));
  world.MustCreate(world.Notebook("b", "1"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(world.End(a, 1, Phase::kFailed));
  EXPECT_EQ(world.Used("requests.cpu"), Q("1"));
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("1"));
  EXPECT_EQ(world.PhaseOf(a), Phase::kFailed);
}

TEST(Ledger, RetriesAreNumberedAndEnd) {
  World world;
  world.MakeProject("nlp", kFourCores);
  auto job = world.Job("j");
  job.spec.retries = 1;
  const auto uid = world.MustCreate(job);
  world.Admit();
  ASSERT_TRUE(world.End(uid, 1, Phase::kFailed, true));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kWaiting);
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("0"));
  world.Admit();
  EXPECT_EQ(world.ledger->FindByUid(uid)->status.attempts.back().number, 2);
  // A late word about the first attempt changes nothing.
  ASSERT_TRUE(world.End(uid, 1, Phase::kFailed));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kAdmitted);
  ASSERT_TRUE(world.End(uid, 2, Phase::kFailed, true));
  EXPECT_EQ(world.PhaseOf(uid), Phase::kFailed);
  EXPECT_EQ(world.Used("requests.cpu"), Q("0"));
}

TEST(Ledger, AnAttemptIsSentOnce) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Notebook("a"));
  const auto first = world.Run(world.ledger->MarkSent(uid, 1, "identity", "namespace"));
  const auto second = world.Run(world.ledger->MarkSent(uid, 1, "identity", "namespace"));
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(*first);
  EXPECT_FALSE(*second);
  const auto other = world.Run(world.ledger->MarkSent(uid, 2, "identity", "namespace"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kConflict);
}

TEST(Ledger, ShrinkingBelowUseStopsAdmissionAndTouchesNothing) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Notebook("a", "3"));
  world.MakeProject("nlp", {{"requests.cpu", Q("2")}});
  EXPECT_EQ(world.PhaseOf(uid), Phase::kAdmitted);
  EXPECT_FALSE(world.Create(world.Notebook("b", "1")));
  ASSERT_TRUE(world.End(uid, 1, Phase::kFailed));
  EXPECT_TRUE(world.Create(world.Notebook("b", "1")));
}

TEST(Ledger, ALimitOnWhatNobodyAsksForStopsNothing) {  // B176
  World world;
  world.MakeProject("nlp", {{"requests.cpu", Q("99999")},
                            {"requests.memory", Q("999999Gi")},
                            {"requests.nvidia.com/gpu", Q("9999")},
                            {"requests.example.com/other", Q("9999")}});
  world.MustCreate(world.Job("j"));
  EXPECT_EQ(world.Admit().size(), 1u);
}

TEST(Ledger, HugeAmountsAreGivenBackExactly) {  // B007
  World world;
  world.MakeProject("nlp", {{"pods", Q("10")}});
  auto huge = world.Notebook("w1");
  huge.spec.resources.memory = Q("9223372036854775807");
  const auto w1 = world.MustCreate(huge);
  auto small = world.Notebook("w2");
  small.spec.resources.memory = Q("7");
  small.spec.resources.shm = Q("0");
  const auto w2 = world.Create(small);
  ASSERT_TRUE(world.End(w1, 1, Phase::kFailed));
  if (w2) ASSERT_TRUE(world.End(w2->object.metadata.uid, 1, Phase::kFailed));
  EXPECT_EQ(world.Used("requests.memory"), Q("0"));
  EXPECT_EQ(world.Reserved("requests.memory"), Q("0"));
}

TEST(Ledger, SumsThatOverflowAreRefused) {  // B008
  World world;
  world.MakeProject("nlp", {{"requests.nvidia.com/gpu", Q("4")}});
  for (const char* name : {"a", "b"}) {
    auto job = world.Job(name);
    job.spec.resources.gpu = model::GpuRequest{.milli_cards = INT64_MAX - 807, .vendor = "nvidia"};
    EXPECT_FALSE(world.Create(job));
  }
  EXPECT_EQ(world.Used("requests.nvidia.com/gpu"), Q("0"));
}

TEST(Ledger, AdmissionFixesThePoolAndCountsItsLine) {
  World world;
  auto project = world.ProjectOf("nlp", {{"requests.nvidia.com/gpu", Q("4")}});
  project.spec.bindings[0].pools.push_back({"a100", {{"requests.nvidia.com/gpu", Q("1")}}});
  ASSERT_TRUE(world.Run(world.ledger->ApplyProject(world.CallOf("admin"), project, std::nullopt)));
  auto notebook = [&world](const char* name) {
    auto made = world.Notebook(name);
    made.spec.resources.gpu = model::GpuRequest{.milli_cards = 1000, .model = "A100"};
    return made;
  };
  const auto first = world.Create(notebook("a"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->object.status.attempts[0].pool, "a100");
  const auto second = world.Create(notebook("b"));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("pool a100"), std::string::npos) << second.error().message;
}

TEST(Ledger, TheAuditLogHasEveryChangeAndIsWhole) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j"));
  world.Admit();
  ASSERT_TRUE(world.End(uid, 1, Phase::kSucceeded));
  ASSERT_TRUE(world.Run(world.ledger->Audit(world.CallOf("ann"), "sign in", "User/ann", {})));
  const auto rows =
      world.Read<std::vector<storage::AuditRow>>([](storage::Reader& r) { return r.Audit(0, 100); });
  std::vector<std::string> actions;
  for (const auto& row : rows) actions.push_back(row.principal + " " + row.action);
  EXPECT_EQ(actions, (std::vector<std::string>{"admin create", "ann create", "cubeplane admit",
                                               "cubeplane end", "ann sign in"}));
  EXPECT_FALSE(world.Read<storage::AuditCheck>([](storage::Reader& r) { return storage::VerifyAudit(r); })
                   .first_broken);
}

}  // namespace
}  // namespace cubeplane::state
