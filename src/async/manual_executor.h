// The executor of tests and the simulation: virtual time, and an order that the seed decides.
#pragma once

#include <map>
#include <vector>

#include "async/executor.h"
#include "base/random.h"

namespace cubeplane::async {

// Threading: one thread. With seed 0 callbacks run in the order they were posted; with another seed any ready
// callback may be next, and the same seed gives the same order.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock, uint64_t seed = 0)
      : clock_(clock), random_(seed), shuffle_(seed != 0) {}

  // Runs one ready callback; false when none is ready.
  bool RunOne();
  // Runs until nothing is ready (timers that are not due do not count).
  void RunUntilIdle();
  // Moves time forward step by step from timer to timer, running what becomes ready.
  void Advance(Duration by);
  // Moves to the next timer and runs what becomes ready; false when there is no timer.
  bool AdvanceToNextTimer();
  // Forgets everything queued: what a killed process leaves undone.
  void Clear();

  void Post(Callback callback) override { ready_.push_back(std::move(callback)); }
  TimerId PostAt(Mono when, Callback callback) override;
  void Cancel(TimerId timer) override;
  const Clock& clock() const override { return clock_; }

 private:
  void Due();

  ManualClock& clock_;
  SeededRandom random_;
  bool shuffle_;
  std::vector<Callback> ready_;
  std::map<std::pair<Mono, TimerId>, Callback> timers_;
  TimerId next_timer_ = 1;
};

}  // namespace cubeplane::async
