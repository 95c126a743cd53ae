#include "async/loop.h"

#include <vector>

namespace cubeplane::async {

void Loop::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    while (!timers_.empty() && timers_.begin()->first.first <= clock_.MonoNow()) {
      auto node = timers_.extract(timers_.begin());
      when_.erase(node.key().second);
      ready_.push_back(std::move(node.mapped()));
    }
    if (ready_.empty()) {
      if (timers_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, timers_.begin()->first.first - clock_.MonoNow());
      }
      continue;
    }
    Callback callback = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    callback();
    callback = nullptr;
    lock.lock();
  }
  // Destroyed without the lock: a destructor may post.
  auto ready = std::move(ready_);
  auto timers = std::move(timers_);
  ready_.clear();
  timers_.clear();
  when_.clear();
  lock.unlock();
}

void Loop::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

void Loop::Post(Callback callback) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  ready_.push_back(std::move(callback));
  wake_.notify_one();
}

TimerId Loop::PostAt(Mono when, Callback callback) {
  std::lock_guard lock(mutex_);
  const TimerId id = next_timer_++;
  if (stopped_) return id;
  timers_.emplace(std::pair(when, id), std::move(callback));
  when_.emplace(id, when);
  wake_.notify_one();
  return id;
}

void Loop::Cancel(TimerId timer) {
  std::unique_lock lock(mutex_);
  auto found = when_.find(timer);
  if (found == when_.end()) return;
  auto node = timers_.extract({found->second, timer});
  when_.erase(found);
  lock.unlock();  // the callback's destructor may call back into us
}

}  // namespace cubeplane::async
