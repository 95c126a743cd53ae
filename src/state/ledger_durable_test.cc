// What must hold over restarts, over threads, and for a request that comes twice.
#include "json/json.h"
#include "model/codec.h"
#include "state/testing/ledger_world.h"
#include "storage/testing/loop_thread.h"
#include "storage/testing/temp_folder.h"

namespace cubeplane::state {
namespace {

using model::Phase;
using storage::testing::LoopThread;
using storage::testing::TempFolder;
using testing::Q;
using testing::World;

const model::ResourceList kFourCores{{"requests.cpu", Q("4")}};

TEST(LedgerDurable, ARepeatedRequestHasTheFirstAnswerAlsoAfterARestart) {
  TempFolder folder;
  World world(folder.File("ledger.db"));
  world.MakeProject("nlp", kFourCores);
  auto create = [&](const std::string& body, const std::string& user = "ann") {
    return world.Run(world.ledger->CreateWorkload(world.CallOf(user, "key", body), world.Notebook("nb")));
  };
  const auto first = create("body");
  ASSERT_TRUE(first) << first.error().message;
  world.Reopen();
  world.clock.Advance(std::chrono::hours(23));
  const auto again = create("body");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->replayed);
  EXPECT_TRUE(again->created);
  EXPECT_EQ(json::Write(model::ToJson(again->object)), json::Write(model::ToJson(first->object)));
  const auto other = create("other body");
  ASSERT_FALSE(other);
  EXPECT_EQ(HttpStatus(other.error().code), 422);
  EXPECT_EQ(other.error().reason, "idempotency_mismatch");
  // Keys are each person's own.
  EXPECT_EQ(create("body", "bob").error().code, Code::kAlreadyExists);
  world.clock.Advance(std::chrono::hours(2));
  EXPECT_EQ(create("body").error().code, Code::kAlreadyExists);
}

TEST(LedgerDurable, AcceptedIsNotLostBetweenAcceptAndAdmit) {
  TempFolder folder;
  World world(folder.File("ledger.db"));
  world.MakeProject("nlp", kFourCores);
  const auto uid = world.MustCreate(world.Job("j", "2"));
  world.Reopen();
  EXPECT_EQ(world.PhaseOf(uid), Phase::kWaiting);
  ASSERT_EQ(world.Admit().size(), 1u);
  world.Reopen();
  EXPECT_EQ(world.PhaseOf(uid), Phase::kAdmitted);
  EXPECT_EQ(world.Used("requests.cpu"), Q("2"));
  ASSERT_TRUE(world.Run(world.ledger->MarkSent(uid, 1, "i", "n")));
  world.Reopen();
  const auto marked = world.Run(world.ledger->MarkSent(uid, 1, "i", "n"));
  ASSERT_TRUE(marked);
  EXPECT_FALSE(*marked);
  ASSERT_TRUE(world.End(uid, 1, Phase::kSucceeded));
  world.Reopen();
  EXPECT_EQ(world.PhaseOf(uid), Phase::kSucceeded);
  EXPECT_EQ(world.Used("requests.cpu"), Q("0"));
  EXPECT_TRUE(world.Admit().empty());
}

TEST(LedgerDurable, ADryRunDecidesAndLeavesNoTrace) {
  World world;
  world.MakeProject("nlp", kFourCores);
  const int64_t version = world.ledger->version();
  auto audit = [&] {
    return world.Read<std::vector<storage::AuditRow>>([](storage::Reader& r) { return r.Audit(0, 100); })
        .size();
  };
  const size_t records = audit();
  Call call = world.CallOf("ann", "key");
  call.dry_run = true;
  const auto tried = world.Run(world.ledger->CreateWorkload(call, world.Notebook("nb", "4")));
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ(tried->object.status.phase, Phase::kAdmitted);
  EXPECT_EQ(world.Run(world.ledger->CreateWorkload(call, world.Notebook("nb", "5"))).error().code,
            Code::kQuotaExceeded);
  EXPECT_EQ(world.ledger->version(), version);
  EXPECT_EQ(world.Reserved("requests.cpu"), Q("0"));
  EXPECT_EQ(audit(), records);
  EXPECT_FALSE(world.ledger->Find({model::WorkloadKind::kNotebook, "nlp", "nb"}));
  call.dry_run = false;
  const auto made = world.Run(world.ledger->CreateWorkload(call, world.Notebook("nb", "4")));
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->replayed);
}

// Law 1 under concurrency: real threads, one group commit after another.
TEST(LedgerDurable, SixtyFourAtOnceAndRoomForExactlySeventeen) {
  constexpr int kSubmitters = 64, kRoom = 17;
  TempFolder folder;
  LoopThread thread;
  SystemRandom random;
  auto store = thread.Call(
      [&] { return storage::OpenSqlite(thread.loop(), thread.clock(), {.path = folder.File("ledger.db")}); });
  ASSERT_TRUE(store) << store.error().message;
  auto ledger = thread.Call(
      [&] { return std::make_unique<Ledger>(**store, thread.clock(), random, Ledger::Settings{}); });
  ASSERT_TRUE(thread.Run(ledger->Load()));
  model::Project project;
  project.metadata.name = "nlp";
  project.spec.bindings.push_back({.quota = {{"requests.cpu", Quantity::FromInt(kRoom)}}});
  ASSERT_TRUE(thread.Run(ledger->ApplyProject({.user = "admin"}, project, std::nullopt)));
  auto started = thread.Call([&] {
    std::vector<std::future<Result<Changed<model::Workload>>>> futures;
    for (int i = 0; i < kSubmitters; ++i) {
      model::Workload workload;
      workload.kind = model::WorkloadKind::kNotebook;
      workload.metadata.name = "nb" + std::to_string(i);
      workload.metadata.project = "nlp";
      workload.spec.resources.cpu = Q("1");
      workload.spec.resources.memory = Q("1Gi");
      futures.push_back(thread.Start(ledger->CreateWorkload({.user = "ann"}, std::move(workload))));
    }
    return futures;
  });
  int admitted = 0, refused = 0;
  for (auto& future : started) {
    const auto made = future.get();
    if (made) {
      ++admitted;
    } else if (made.error().code == Code::kQuotaExceeded) {
      ++refused;
    }
  }
  EXPECT_EQ(admitted, kRoom);
  EXPECT_EQ(refused, kSubmitters - kRoom);
  EXPECT_EQ(thread.Call([&] { return ledger->Bindings("nlp").front().used.at("requests.cpu"); }),
            Quantity::FromInt(kRoom));
  thread.Call([&] {
    ledger.reset();
    store->reset();
  });
}

// Chance decides what happens next; at every step the rows, the memory and a reopened ledger say the same,
// within the quota.
TEST(LedgerDurable, MemoryAndRowsAgreeOverAnyCourse) {
  TempFolder folder;
  World world(folder.File("ledger.db"));
  world.MakeProject("nlp", kFourCores);
  SeededRandom chance(20);
  for (int step = 0; step < 300; ++step) {
    const auto all = world.ledger->Workloads("nlp");
    const WorkloadPtr one = all.empty() ? nullptr : all[chance.Below(all.size())];
    const uint64_t what = chance.Below(8);
    if (!one || what < 2) {
      const std::string name = "w" + std::to_string(step);
      const char* cpu = chance.Below(2) == 0 ? "1" : "1500m";
      auto workload = what == 0 ? world.Notebook(name, cpu) : world.Job(name, cpu);
      workload.spec.retries = workload.kind == model::WorkloadKind::kTrainingJob ? 1 : 0;
      static_cast<void>(world.Create(std::move(workload)));
    } else if (what == 2) {
      static_cast<void>(
          world.Run(world.ledger->StopWorkload(world.CallOf("ann"), {one->kind, "nlp", one->metadata.name})));
    } else if (what == 3) {
      static_cast<void>(world.Run(
          world.ledger->DeleteWorkload(world.CallOf("ann"), {one->kind, "nlp", one->metadata.name})));
    } else if (what == 4 && !one->status.attempts.empty()) {
      static_cast<void>(
          world.End(one->metadata.uid, one->status.attempts.back().number, Phase::kFailed, true));
    } else if (what == 5 && !one->status.attempts.empty()) {
      static_cast<void>(world.Run(world.ledger->ClusterRefused(
          one->metadata.uid, one->status.attempts.back().number, {"cluster_refused", {}})));
    } else if (what == 6) {
      static_cast<void>(world.Run(world.ledger->Forget(one->metadata.uid)));
    } else {
      world.Admit();
    }
    if (step % 50 == 49) world.Reopen();
    ASSERT_EQ(world.Used("requests.cpu"), world.Reserved("requests.cpu")) << step;
    ASSERT_LE(world.Reserved("requests.cpu"), Q("4")) << step;
  }
}

}  // namespace
}  // namespace cubeplane::state
