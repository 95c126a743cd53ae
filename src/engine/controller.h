// One loop of the engine: marks keys as changes come, and sees to them all at once later.
#pragma once

#include "async/executor.h"
#include "async/group.h"
#include "engine/cluster.h"

namespace cubeplane::engine {

// Threading: the control thread only.
class Controller {
 public:
  virtual ~Controller() = default;
  // Marks what this change concerns. Called for every change, and at the start once for every object (as
  // kAdded). Must not write.
  virtual void Observe(const Change& change) = 0;
  // Looks at the whole state of what is marked and moves it one step; writes make new changes, which come
  // back here.
  virtual void Reconcile() = 0;
};

// What loops that wait for the world need beside the objects.
struct Host {
  async::Executor& executor;
  async::TaskGroup& tasks;     // their coroutines; stopped before the loops go
  std::function<void()> wake;  // runs all loops soon
};

}  // namespace cubeplane::engine
