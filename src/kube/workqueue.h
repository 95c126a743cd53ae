// A queue of keys with client-go's contracts:
//   a key that is added twice before it is taken is worked on once;
//   a key is never worked on by two at once;
//   a key that is added while it is worked on is worked on again after Done;
//   failed keys come back later and later (AddRateLimited), until Forget.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "async/executor.h"
#include "async/sync.h"
#include "base/random.h"

namespace cubeplane::kube {

struct WorkQueueOptions {
  Duration min_backoff = std::chrono::milliseconds(20);
  Duration max_backoff = std::chrono::seconds(60);
};

// Threading: on the control thread. Lifetime: ShutDown before destruction.
class WorkQueue {
 public:
  WorkQueue(async::Executor& executor, Random& random, WorkQueueOptions options = {});
  ~WorkQueue();

  void Add(const std::string& key);
  void AddAfter(const std::string& key, Duration delay);
  void AddRateLimited(const std::string& key);
  // The next key; nullopt after ShutDown. The key counts as worked on until Done.
  async::Task<std::optional<std::string>> Get();
  void Done(const std::string& key);
  void Forget(const std::string& key);
  void ShutDown();
  size_t size() const { return queue_.size(); }
  int failures(const std::string& key) const;

 private:
  void Wake();

  async::Executor& executor_;
  Random& random_;
  const WorkQueueOptions options_;
  std::deque<std::string> queue_;
  std::set<std::string> dirty_, processing_;
  std::map<std::string, int> failures_;
  // The earliest pending timer of each key that waits.
  std::map<std::string, std::pair<Mono, async::TimerId>> timers_;
  std::deque<async::OneShot<bool>> waiters_;
  bool shut_down_ = false;
};

}  // namespace cubeplane::kube
