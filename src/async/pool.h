// Calls that block (database, password hashing, decoding) run here, and their values come back to the
// executor.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "async/executor.h"
#include "async/sync.h"
#include "async/task.h"

namespace cubeplane::async {

// With 0 threads calls run inline on the caller: what tests and the simulation use.
// Threading: Run on the executor. Lifetime: the destructor finishes what is queued, then joins its threads.
class BlockingPool {
 public:
  BlockingPool(Executor& executor, size_t threads);
  ~BlockingPool();

  template <class F, class R = std::invoke_result_t<F>>
  Task<R> Run(F call) {
    if (threads_.empty()) co_return call();
    OneShot<R> done(executor_);
    Enqueue([done, call = std::move(call)]() mutable { done.Set(call()); });
    R value = co_await done.Wait();
    co_return value;
  }

 private:
  void Enqueue(Callback call);

  Executor& executor_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Callback> queue_;  // guarded by mutex_
  bool stopped_ = false;        // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace cubeplane::async
