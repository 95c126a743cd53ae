// The loop of a controller: keys in, one reconcile at a time per key, back-off on failure.
#pragma once

#include <functional>
#include <string>

#include "async/executor.h"
#include "async/group.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/workqueue.h"

namespace cubeplane::controller {

// What a reconcile says: an error is retried with back-off; `again` asks to look once more after that time.
struct Outcome {
  Result<void> result;
  std::optional<Duration> again;
};

// Threading: on the control thread. At most `workers` keys at a time; a key is never worked on twice at once.
class Loop {
 public:
  using Reconcile = std::function<async::Task<Outcome>(std::string key)>;
  // `name` is for the log.
  Loop(std::string name, async::Executor& executor, Random& random, Reconcile reconcile);

  void Mark(const std::string& key) { queue_.Add(key); }
  void Start(size_t workers);
  async::Task<void> Stop();
  // The error of the last failed reconcile of each key that still fails, for status and tests.
  const std::map<std::string, Error>& failing() const { return failing_; }

 private:
  async::Task<void> Work();

  const std::string name_;
  Reconcile reconcile_;
  kube::WorkQueue queue_;
  async::TaskGroup group_;
  std::map<std::string, Error> failing_;
};

}  // namespace cubeplane::controller
