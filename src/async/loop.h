// The real executor: a queue and timers, run by the thread that calls Run.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "async/executor.h"

namespace cubeplane::async {

// Threading: Run from one thread; everything else from any.
class Loop final : public Executor {
 public:
  explicit Loop(const Clock& clock) : clock_(clock) {}
  // Runs callbacks until Stop. What is still queued then is destroyed, not run.
  void Run();
  void Stop();

  void Post(Callback callback) override;
  TimerId PostAt(Mono when, Callback callback) override;
  void Cancel(TimerId timer) override;
  const Clock& clock() const override { return clock_; }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::deque<Callback> ready_;
  std::map<std::pair<Mono, TimerId>, Callback> timers_;
  std::map<TimerId, Mono> when_;
  TimerId next_timer_ = 1;
  bool stopped_ = false;
};

}  // namespace cubeplane::async
