// Ways for a value to reach a coroutine: from a callback, another thread, or another coroutine.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "async/executor.h"
#include "async/task.h"

namespace cubeplane::async {

// One value, one waiter. Copies share the state. Set from any thread, at most once; later calls are ignored
// (and say so). Wait on the executor only.
template <class T>
class OneShot {
 public:
  explicit OneShot(Executor& executor) : state_(std::make_shared<State>(executor)) {}

  // Gives the value; the waiter is resumed on the executor. False when a value was there already.
  bool Set(T value) const {
    std::unique_lock lock(state_->mutex);
    if (state_->value || state_->taken) return false;
    state_->value.emplace(std::move(value));
    const bool waits = state_->waiter != nullptr;
    lock.unlock();
    if (waits) {
      state_->executor.Post([state = state_] {
        // Null when the waiting frame was destroyed meanwhile.
        if (auto waiter = std::exchange(state->waiter, nullptr)) waiter.resume();
      });
    }
    return true;
  }

  auto Wait() const {
    // Destroying a frame that waits here (a TaskGroup that goes) takes it off the list.
    struct Awaiter {
      std::shared_ptr<State> state;
      bool waits = false;
      ~Awaiter() {
        if (!waits) return;
        std::lock_guard lock(state->mutex);
        state->waiter = nullptr;
      }
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> handle) {
        std::lock_guard lock(state->mutex);
        if (state->value) return false;
        state->waiter = handle;
        waits = true;
        return true;
      }
      T await_resume() {
        std::lock_guard lock(state->mutex);
        waits = false;
        state->taken = true;
        T value = std::move(*state->value);
        state->value.reset();
        return value;
      }
    };
    return Awaiter{state_};
  }

 private:
  struct State {
    explicit State(Executor& executor) : executor(executor) {}
    Executor& executor;
    std::mutex mutex;
    std::optional<T> value;
    bool taken = false;
    std::coroutine_handle<> waiter;
  };
  std::shared_ptr<State> state_;
};

// A bounded queue with one reader. Push and Close from any thread; Pop on the executor.
template <class T>
class Channel {
 public:
  Channel(Executor& executor, size_t capacity) : executor_(executor), capacity_(capacity) {}

  // False when the channel is full or closed; the value is then dropped.
  bool Push(T value) {
    std::unique_lock lock(mutex_);
    if (closed_ || queue_.size() >= capacity_) return false;
    queue_.push_back(std::move(value));
    Wake(lock);
    return true;
  }
  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    Wake(lock);
  }
  // The next value; nullopt once closed and drained.
  Task<std::optional<T>> Pop() {
    for (;;) {
      std::optional<OneShot<bool>> wait;
      {
        std::lock_guard lock(mutex_);
        if (!queue_.empty()) {
          std::optional<T> value = std::move(queue_.front());
          queue_.pop_front();
          co_return value;
        }
        if (closed_) co_return std::nullopt;
        waiter_.emplace(executor_);
        wait = waiter_;
      }
      co_await wait->Wait();
    }
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  void Wake(std::unique_lock<std::mutex>& lock) {
    auto waiter = std::move(waiter_);
    waiter_.reset();
    lock.unlock();
    if (waiter) waiter->Set(true);
  }

  Executor& executor_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<T> queue_;
  bool closed_ = false;
  std::optional<OneShot<bool>> waiter_;
};

// Waits `duration`; false when `stop` was requested first.
Task<bool> Sleep(Executor& executor, Duration duration, std::stop_token stop = {});
// Lets others run first.
Task<void> Yield(Executor& executor);

}  // namespace cubeplane::async
