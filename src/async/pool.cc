#include "async/pool.h"

namespace cubeplane::async {

BlockingPool::BlockingPool(Executor& executor, size_t threads) : executor_(executor) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] {
      std::unique_lock lock(mutex_);
      for (;;) {
        wake_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
        if (queue_.empty()) return;
        Callback call = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        call();
        call = nullptr;
        lock.lock();
      }
    });
  }
}

BlockingPool::~BlockingPool() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void BlockingPool::Enqueue(Callback call) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(call));
  wake_.notify_one();
}

}  // namespace cubeplane::async
