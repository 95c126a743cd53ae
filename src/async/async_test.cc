#include <gtest/gtest.h>

#include <thread>

#include "async/backoff.h"
#include "async/group.h"
#include "async/loop.h"
#include "async/manual_executor.h"
#include "async/pool.h"
#include "async/sync.h"

namespace cubeplane::async {
namespace {

using namespace std::chrono_literals;

Task<int> Add(Executor& executor, int a, int b) {
  co_await Yield(executor);
  co_return a + b;
}

TEST(Task, ReturnsThroughAwait) {
  ManualClock clock;
  ManualExecutor executor(clock);
  TaskGroup group(executor);
  int result = 0;
  auto body = [&]() -> Task<void> {
    const int first = co_await Add(executor, 1, 2);
    result = co_await Add(executor, first, 4);
  };
  group.Spawn(body());
  EXPECT_EQ(result, 0);
  executor.RunUntilIdle();
  EXPECT_EQ(result, 7);
  EXPECT_EQ(group.running(), 0u);
}

TEST(Task, DeepChainsDoNotGrowTheStack) {
  ManualClock clock;
  ManualExecutor executor(clock);
  TaskGroup group(executor);
  int64_t sum = 0;
  auto one = [](int i) -> Task<int> { co_return i; };
  auto body = [&]() -> Task<void> {
    for (int i = 0; i < 200'000; ++i) {
      const int value = co_await one(i);
      sum += value;
    }
  };
  group.Spawn(body());
  executor.RunUntilIdle();
  EXPECT_EQ(sum, 19'999'900'000);
}

TEST(Sleep, WaitsForVirtualTimeAndStops) {
  ManualClock clock;
  ManualExecutor executor(clock);
  TaskGroup group(executor);
  std::vector<bool> slept;
  auto body = [&]() -> Task<void> {
    const bool first = co_await Sleep(executor, 5s, group.token());
    slept.push_back(first);
    const bool second = co_await Sleep(executor, 5s, group.token());
    slept.push_back(second);
  };
  group.Spawn(body());
  executor.Advance(4s);
  EXPECT_TRUE(slept.empty());
  executor.Advance(2s);
  EXPECT_EQ(slept, std::vector<bool>{true});
  group.Stop();
  executor.RunUntilIdle();
  EXPECT_EQ(slept, (std::vector<bool>{true, false}));
}

TEST(ManualExecutor, SameSeedSameOrder) {
  auto run = [](uint64_t seed) {
    ManualClock clock;
    ManualExecutor executor(clock, seed);
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) executor.Post([&order, i] { order.push_back(i); });
    executor.RunUntilIdle();
    return order;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(Channel, CarriesAcrossThreadsAndCloses) {
  SystemClock clock;
  Loop loop(clock);
  Channel<int> channel(loop, 1000);
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) channel.Push(i);
    channel.Close();
  });
  auto body = [&]() -> Task<int> {
    int sum = 0;
    for (;;) {
      std::optional<int> value = co_await channel.Pop();
      if (!value) break;
      sum += *value;
    }
    co_return sum;
  };
  EXPECT_EQ(RunToEnd(loop, body()), 4950);
  writer.join();
}

TEST(Channel, RefusesWhenFull) {
  ManualClock clock;
  ManualExecutor executor(clock);
  Channel<int> channel(executor, 1);
  EXPECT_TRUE(channel.Push(1));
  EXPECT_FALSE(channel.Push(2));
}

TEST(BlockingPool, BringsTheValueBackToTheLoop) {
  SystemClock clock;
  Loop loop(clock);
  BlockingPool pool(loop, 2);
  auto body = [&]() -> Task<bool> {
    const auto here = std::this_thread::get_id();
    const auto there = co_await pool.Run([] { return std::this_thread::get_id(); });
    co_return here != there&& std::this_thread::get_id() == here;
  };
  EXPECT_TRUE(RunToEnd(loop, body()));
}

TEST(Backoff, DoublesWithinBounds) {
  SeededRandom random(3);
  Backoff backoff(100ms, 1s, random);
  for (int i = 0; i < 50; ++i) {
    const Duration full = std::min<Duration>(1s, 100ms * (1 << std::min(i, 20)));
    const Duration wait = backoff.Next();
    EXPECT_GE(wait, full / 2);
    EXPECT_LE(wait, full);
  }
}

TEST(TaskGroup, DestroysSuspendedFramesAndNothingResumesThem) {
  ManualClock clock;
  ManualExecutor executor(clock);
  auto token = std::make_shared<int>(1);
  std::weak_ptr<int> watch = token;
  OneShot<int> never(executor);
  {
    TaskGroup group(executor);
    auto body = [](std::shared_ptr<int> held, OneShot<int> never) -> Task<void> { co_await never.Wait(); };
    group.Spawn(body(token, never));
    group.Spawn(body(std::move(token), OneShot<int>(executor)));
    executor.RunUntilIdle();
    never.Set(1);  // posted, but the group goes before it runs
  }
  EXPECT_TRUE(watch.expired());
  executor.RunUntilIdle();
}

TEST(TaskGroup, JoinWaitsForAll) {
  ManualClock clock;
  ManualExecutor executor(clock);
  TaskGroup group(executor), outer(executor);
  bool joined = false;
  auto sleeper = [&]() -> Task<void> { co_await Sleep(executor, 100s, group.token()); };
  auto join = [&]() -> Task<void> {
    co_await group.Join();
    joined = true;
  };
  group.Spawn(sleeper());
  group.Spawn(sleeper());
  executor.RunUntilIdle();
  outer.Spawn(join());
  executor.RunUntilIdle();
  EXPECT_TRUE(joined);
}

}  // namespace
}  // namespace cubeplane::async
