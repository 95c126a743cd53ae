#include "async/manual_executor.h"

namespace cubeplane::async {

void ManualExecutor::Due() {
  while (!timers_.empty() && timers_.begin()->first.first <= clock_.MonoNow()) {
    auto node = timers_.extract(timers_.begin());
    ready_.push_back(std::move(node.mapped()));
  }
}

bool ManualExecutor::RunOne() {
  Due();
  if (ready_.empty()) return false;
  const size_t pick = shuffle_ ? random_.Below(ready_.size()) : 0;
  Callback callback = std::move(ready_[pick]);
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(pick));
  callback();
  return true;
}

void ManualExecutor::RunUntilIdle() {
  while (RunOne()) {
  }
}

void ManualExecutor::Advance(Duration by) {
  const Mono end = clock_.MonoNow() + by;
  RunUntilIdle();
  while (!timers_.empty() && timers_.begin()->first.first <= end) {
    const Mono next = timers_.begin()->first.first;
    if (next > clock_.MonoNow()) clock_.Advance(next - clock_.MonoNow());
    RunUntilIdle();
  }
  if (end > clock_.MonoNow()) clock_.Advance(end - clock_.MonoNow());
  RunUntilIdle();
}

bool ManualExecutor::AdvanceToNextTimer() {
  RunUntilIdle();
  if (timers_.empty()) return false;
  const Mono next = timers_.begin()->first.first;
  if (next > clock_.MonoNow()) clock_.Advance(next - clock_.MonoNow());
  RunUntilIdle();
  return true;
}

void ManualExecutor::Clear() {
  // A destructor may post again while we clear, so take everything out first, until nothing comes back.
  while (!ready_.empty() || !timers_.empty()) {
    auto ready = std::move(ready_);
    auto timers = std::move(timers_);
    ready_.clear();
    timers_.clear();
  }
}

TimerId ManualExecutor::PostAt(Mono when, Callback callback) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(callback));
  return id;
}

void ManualExecutor::Cancel(TimerId timer) {
  for (auto it = timers_.begin(); it != timers_.end(); ++it) {
    if (it->first.second != timer) continue;
    auto node = timers_.extract(it);
    return;
  }
}

}  // namespace cubeplane::async
