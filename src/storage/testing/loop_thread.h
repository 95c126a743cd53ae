// A control thread for tests: a real Loop on a thread of its own, driven from the test's thread.
#pragma once

#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "async/group.h"
#include "async/loop.h"
#include "base/clock.h"

namespace cubeplane::storage::testing {

// Threading: Run, Start and Call from the test's thread. Lifetime: what runs on it must have ended before it
// goes.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.Run(); }) {}
  ~LoopThread() {
    loop_.Stop();
    thread_.join();
  }
  async::Loop& loop() { return loop_; }
  const Clock& clock() const { return clock_; }

  // Starts `task` on the loop.
  template <class T>
  std::future<T> Start(async::Task<T> task) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> value = promise->get_future();
    loop_.Post([this, promise, task = std::move(task)]() mutable {
      group_.Spawn(Fulfil(std::move(task), promise));
    });
    return value;
  }
  // Starts `task` and waits for its value.
  template <class T>
  T Run(async::Task<T> task) {
    return Start(std::move(task)).get();
  }
  // Calls `call` on the loop and waits for its value.
  template <class F>
  auto Call(F call) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(call));
    auto value = task.get_future();
    loop_.Post([task = std::move(task)]() mutable { task(); });
    return value.get();
  }

 private:
  template <class T>
  static async::Task<void> Fulfil(async::Task<T> task, std::shared_ptr<std::promise<T>> promise) {
    T value = co_await std::move(task);
    promise->set_value(std::move(value));
  }

  SystemClock clock_;
  async::Loop loop_{clock_};
  async::TaskGroup group_{loop_};
  std::thread thread_;
};

}  // namespace cubeplane::storage::testing
