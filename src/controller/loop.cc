#include "controller/loop.h"

#include "log/log.h"

namespace cubeplane::controller {

Loop::Loop(std::string name, async::Executor& executor, Random& random, Reconcile reconcile)
    : name_(std::move(name)), reconcile_(std::move(reconcile)), queue_(executor, random), group_(executor) {}

void Loop::Start(size_t workers) {
  for (size_t i = 0; i < workers; ++i) group_.Spawn(Work());
}

async::Task<void> Loop::Stop() {
  queue_.ShutDown();
  co_await group_.Join();
}

async::Task<void> Loop::Work() {
  for (;;) {
    const std::optional<std::string> key = co_await queue_.Get();
    if (!key) co_return;
    const Outcome outcome = co_await reconcile_(*key);
    queue_.Done(*key);
    if (!outcome.result) {
      const Error& error = outcome.result.error();
      // Once per failure, not once per try: a cluster that is down would fill the log.
      const auto known = failing_.find(*key);
      if (known == failing_.end() || known->second.message != error.message) {
        log::Warn(name_ + " will try again", {{"key", *key}, {"error", error.message}});
      }
      failing_[*key] = error;
      queue_.AddRateLimited(*key);
      continue;
    }
    failing_.erase(*key);
    queue_.Forget(*key);
    if (outcome.again) queue_.AddAfter(*key, *outcome.again);
  }
}

}  // namespace cubeplane::controller
