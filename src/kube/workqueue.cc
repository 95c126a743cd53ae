#include "kube/workqueue.h"

#include <algorithm>

namespace cubeplane::kube {

WorkQueue::WorkQueue(async::Executor& executor, Random& random, WorkQueueOptions options)
    : executor_(executor), random_(random), options_(options) {}

WorkQueue::~WorkQueue() {
  for (const auto& [key, timer] : timers_) executor_.Cancel(timer.second);
}

void WorkQueue::Wake() {
  while (!waiters_.empty()) {
    const async::OneShot<bool> waiter = waiters_.front();
    waiters_.pop_front();
    if (waiter.Set(true)) return;
  }
}

void WorkQueue::Add(const std::string& key) {
  if (shut_down_ || !dirty_.insert(key).second) return;
  if (processing_.contains(key)) return;  // Done brings it back
  queue_.push_back(key);
  Wake();
}

void WorkQueue::AddAfter(const std::string& key, Duration delay) {
  if (shut_down_) return;
  if (delay <= Duration::zero()) {
    Add(key);
    return;
  }
  const Mono when = executor_.clock().MonoNow() + delay;
  const auto pending = timers_.find(key);
  if (pending != timers_.end()) {
    if (pending->second.first <= when) return;
    executor_.Cancel(pending->second.second);
    timers_.erase(pending);
  }
  const async::TimerId timer = executor_.PostAt(when, [this, key] {
    timers_.erase(key);
    Add(key);
  });
  timers_.emplace(key, std::pair(when, timer));
}

void WorkQueue::AddRateLimited(const std::string& key) {
  const int failures = failures_[key]++;
  const Duration full =
      std::min(options_.max_backoff, options_.min_backoff * (int64_t{1} << std::min(failures, 30)));
  const auto half = static_cast<uint64_t>(full.count() / 2);
  AddAfter(key, Duration(static_cast<int64_t>(half + random_.Below(half + 1))));
}

async::Task<std::optional<std::string>> WorkQueue::Get() {
  for (;;) {
    if (shut_down_) co_return std::nullopt;
    if (!queue_.empty()) {
      std::string key = std::move(queue_.front());
      queue_.pop_front();
      dirty_.erase(key);
      processing_.insert(key);
      co_return key;
    }
    async::OneShot<bool> waiter(executor_);
    waiters_.push_back(waiter);
    co_await waiter.Wait();
  }
}

void WorkQueue::Done(const std::string& key) {
  processing_.erase(key);
  if (!dirty_.contains(key) || shut_down_) return;
  queue_.push_back(key);
  Wake();
}

void WorkQueue::Forget(const std::string& key) { failures_.erase(key); }

int WorkQueue::failures(const std::string& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void WorkQueue::ShutDown() {
  shut_down_ = true;
  for (const auto& [key, timer] : timers_) executor_.Cancel(timer.second);
  timers_.clear();
  while (!waiters_.empty()) Wake();
}

}  // namespace cubeplane::kube
