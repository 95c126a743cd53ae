// Where callbacks and coroutines run: one after another, never two at once.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace cubeplane::async {

using Callback = std::move_only_function<void()>;
using TimerId = uint64_t;

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `callback` later, on the executor. From any thread. After Stop() callbacks are dropped.
  virtual void Post(Callback callback) = 0;
  // Runs `callback` once `clock().MonoNow() >= when`. From any thread.
  virtual TimerId PostAt(Mono when, Callback callback) = 0;
  // The callback will not run after Cancel returns, when called on the executor. Unknown ids are ignored.
  virtual void Cancel(TimerId timer) = 0;
  virtual const Clock& clock() const = 0;
};

}  // namespace cubeplane::async
