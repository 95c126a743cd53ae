#include "kube/workqueue.h"

#include <gtest/gtest.h>

#include "async/group.h"
#include "async/manual_executor.h"

namespace cubeplane::kube {
namespace {

using namespace std::chrono_literals;

struct Fixture : ::testing::Test {
  ManualClock clock;
  async::ManualExecutor executor{clock};
  SeededRandom random{1};
  WorkQueue queue{executor, random};
  async::TaskGroup group{executor};
  std::vector<std::string> taken;

  async::Task<void> Take() {
    const std::optional<std::string> key = co_await queue.Get();
    taken.push_back(key.value_or("<end>"));
  }
  void TakeOne() {
    group.Spawn(Take());
    executor.RunUntilIdle();
  }
};

TEST_F(Fixture, AKeyAddedTwiceIsTakenOnce) {
  queue.Add("a");
  queue.Add("a");
  queue.Add("b");
  TakeOne();
  TakeOne();
  EXPECT_EQ(taken, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(Fixture, AKeyAddedWhileWorkedOnComesBackAfterDone) {
  queue.Add("a");
  TakeOne();
  queue.Add("a");
  TakeOne();
  EXPECT_EQ(taken.size(), 1u);
  queue.Done("a");
  executor.RunUntilIdle();
  EXPECT_EQ(taken, (std::vector<std::string>{"a", "a"}));
}

TEST_F(Fixture, FailedKeysComeBackLaterAndLater) {
  Duration last = 0s;
  for (int i = 0; i < 8; ++i) {
    const Mono start = clock.MonoNow();
    queue.AddRateLimited("a");
    while (queue.size() == 0) ASSERT_TRUE(executor.AdvanceToNextTimer());
    const Duration wait = clock.MonoNow() - start;
    EXPECT_GE(wait * 2 + 1ns, last);
    last = wait;
    TakeOne();
    queue.Done("a");
  }
  EXPECT_EQ(queue.failures("a"), 8);
  queue.Forget("a");
  EXPECT_EQ(queue.failures("a"), 0);
}

TEST_F(Fixture, TheEarlierOfTwoDelaysWins) {
  queue.AddAfter("a", 10s);
  queue.AddAfter("a", 1s);
  queue.AddAfter("a", 5s);
  executor.Advance(2s);
  EXPECT_EQ(queue.size(), 1u);
  TakeOne();
  queue.Done("a");
  executor.Advance(20s);
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(Fixture, ShutDownWakesEveryWaiter) {
  group.Spawn(Take());
  group.Spawn(Take());
  executor.RunUntilIdle();
  queue.ShutDown();
  executor.RunUntilIdle();
  EXPECT_EQ(taken, (std::vector<std::string>{"<end>", "<end>"}));
  EXPECT_EQ(group.running(), 0u);
}

}  // namespace
}  // namespace cubeplane::kube
