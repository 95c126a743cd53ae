// What every Runtime promises: one suite, run against the node with real pods and against the fake.
#include <gtest/gtest.h>

#include "engine/node/testing/harness.h"

namespace cubeplane::engine::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RuntimeContract : public testing::TestWithParam<bool> {
 protected:
  RuntimeContract() {
    if (GetParam()) {
      harness_ = std::make_unique<RealHarness>();
    } else {
      harness_ = std::make_unique<FakeHarness>();
    }
  }

  // A pod that both understand: the fake reads the variables, the shell acts on them.
  static PodRun Pod(const std::string& uid, const std::string& run_seconds, int exit_code,
                    const std::string& term_seconds = "0") {
    PodRun run =
        ShellPod(uid,
                 "[ \"$FAKE_TERM_SECONDS\" = 0 ] || trap : TERM\n"
                 "[ -z \"$FAKE_MESSAGE\" ] || printf %s \"$FAKE_MESSAGE\" > /dev/termination-log\n"
                 "n=0; while [ -z \"$FAKE_SECONDS\" ] || [ $n = 0 ]; do sleep ${FAKE_SECONDS:-0.05}; "
                 "[ -z \"$FAKE_SECONDS\" ] || n=1; done; exit $FAKE_EXIT");
    run.env = {{"FAKE_SECONDS", run_seconds},
               {"FAKE_EXIT", std::to_string(exit_code)},
               {"FAKE_MESSAGE", "{\"accuracy\":0.97}"},
               {"FAKE_TERM_SECONDS", term_seconds}};
    return run;
  }

  void MustStart(PodRun run) {
    const auto started = harness_->Start(std::move(run));
    ASSERT_TRUE(started) << started.error().message;
  }

  std::unique_ptr<Harness> harness_;
};

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeContract, testing::Bool(),
                         [](const auto& info) { return info.param ? "node" : "fake"; });

TEST_P(RuntimeContract, GivesEachTenantItsUserIdAndFolder) {
  const auto one = harness_->EnsureTenant("t1"), again = harness_->EnsureTenant("t1"),
             two = harness_->EnsureTenant("t2");
  ASSERT_TRUE(one && again && two);
  EXPECT_EQ(one->uid, again->uid);
  EXPECT_NE(one->uid, two->uid);
  EXPECT_TRUE(one->data_folder.ends_with("/projects/t1"));
  EXPECT_EQ(harness_->EnsureTenant("../x").error().code, Code::kInvalid);
}

TEST_P(RuntimeContract, TellsStartRunAndEndWithCodeAndMessage) {
  MustStart(Pod("p", "0.2", 3));
  const PodState running = harness_->WaitForPhase("p", PodPhase::kRunning);
  EXPECT_TRUE(running.ready);
  EXPECT_TRUE(running.started_at);
  const PodState ended = harness_->WaitForPhase("p", PodPhase::kExited);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_FALSE(ended.ready);
  EXPECT_EQ(ended.message, "{\"accuracy\":0.97}");
  ASSERT_TRUE(ended.started_at && ended.finished_at);
  EXPECT_GE(*ended.finished_at - *ended.started_at, milliseconds(150));
}

TEST_P(RuntimeContract, StartingTwiceIsOneRun) {
  MustStart(Pod("p", "", 0));
  MustStart(Pod("p", "", 0));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  MustStart(Pod("p", "", 0));
  const auto list = harness_->List();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].restarts, 0);
}

TEST_P(RuntimeContract, StartAfterTheEndDoesNotRunAgain) {
  MustStart(Pod("p", "0", 0));
  const PodState ended = harness_->WaitForPhase("p", PodPhase::kExited);
  MustStart(Pod("p", "0", 0));
  const auto list = harness_->List();
  ASSERT_TRUE(list && list->size() == 1);
  EXPECT_EQ((*list)[0].phase, PodPhase::kExited);
  EXPECT_EQ((*list)[0].started_at, ended.started_at);
}

TEST_P(RuntimeContract, StopAsksWithTerm) {
  MustStart(Pod("p", "", 0));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  ASSERT_TRUE(harness_->Stop("p", seconds(10)));
  const PodState ended = harness_->WaitForPhase("p", PodPhase::kExited);
  EXPECT_EQ(ended.exit_code, 143);
  EXPECT_EQ(ended.signal, 15);
}

TEST_P(RuntimeContract, KillsAfterTheGrace) {
  MustStart(Pod("p", "", 0, "60"));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  ASSERT_TRUE(harness_->Stop("p", milliseconds(300)));
  const PodState ended = harness_->WaitForPhase("p", PodPhase::kExited);
  EXPECT_EQ(ended.exit_code, 137);
  EXPECT_EQ(ended.signal, 9);
  EXPECT_EQ(ended.message, "did not end within its grace and was killed");
}

TEST_P(RuntimeContract, RestartsWithBackOffUntilStopped) {
  PodRun run = Pod("p", "0.1", 1);
  run.restart = true;
  MustStart(run);
  const PodState waiting = harness_->WaitFor("p", [](const PodState& state) { return state.restarts == 1; });
  EXPECT_EQ(waiting.phase, PodPhase::kStarting);
  EXPECT_EQ(waiting.exit_code, 1);
  EXPECT_NE(waiting.message.find("exit code 1"), std::string::npos) << waiting.message;
  harness_->WaitFor(
      "p", [](const PodState& state) { return state.restarts == 1 && state.phase == PodPhase::kRunning; });
  ASSERT_TRUE(harness_->Stop("p", seconds(5)));
  harness_->WaitForPhase("p", PodPhase::kExited);
}

TEST_P(RuntimeContract, StopWhileItWaitsToRestartEndsIt) {
  PodRun run = Pod("p", "0", 1);
  run.restart = true;
  MustStart(run);
  harness_->WaitFor("p", [](const PodState& state) { return state.restarts == 1; });
  ASSERT_TRUE(harness_->Stop("p", seconds(5)));
  EXPECT_EQ(harness_->WaitForPhase("p", PodPhase::kExited).exit_code, 1);
}

TEST_P(RuntimeContract, KilledSupervisorIsALostPod) {
  MustStart(Pod("p", "", 0));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  harness_->KillSupervisor("p");
  const PodState lost = harness_->WaitForPhase("p", PodPhase::kLost);
  EXPECT_EQ(lost.exit_code, 137);
  EXPECT_FALSE(lost.ready);
  EXPECT_NE(lost.message.find("supervisor was killed"), std::string::npos);
}

TEST_P(RuntimeContract, ANewUserHearsOfEveryPod) {
  MustStart(Pod("p", "", 0));
  MustStart(Pod("q", "0", 4));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  harness_->WaitForPhase("q", PodPhase::kExited);
  harness_->RestartUser();
  EXPECT_EQ(harness_->WaitForPhase("p", PodPhase::kRunning).restarts, 0);
  EXPECT_EQ(harness_->WaitForPhase("q", PodPhase::kExited).exit_code, 4);
  ASSERT_TRUE(harness_->Stop("p", seconds(5)));
  harness_->WaitForPhase("p", PodPhase::kExited);
}

TEST_P(RuntimeContract, RemoveEndsAndForgets) {
  MustStart(Pod("p", "", 0));
  harness_->WaitForPhase("p", PodPhase::kRunning);
  ASSERT_TRUE(harness_->Remove("p", false));
  const auto list = harness_->List();
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
  EXPECT_TRUE(harness_->Remove("p", false));
  EXPECT_TRUE(harness_->Stop("p", seconds(1)));
}

TEST_P(RuntimeContract, RefusesWhatCanNeverRun) {
  PodRun unknown = Pod("p", "0", 0);
  unknown.image = "env:other";
  const auto refused = harness_->Start(unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("env:other"), std::string::npos);

  PodRun bad_mount = Pod("p", "0", 0);
  bad_mount.mounts[0].path = "/usr/lib";
  const auto mount = harness_->Start(bad_mount);
  ASSERT_FALSE(mount);
  EXPECT_EQ(mount.error().code, Code::kInvalid);
  ASSERT_FALSE(mount.error().fields.empty());
  EXPECT_EQ(mount.error().fields[0].path, "mounts[0].path");
  EXPECT_TRUE(harness_->List()->empty());
}

}  // namespace
}  // namespace cubeplane::engine::node
