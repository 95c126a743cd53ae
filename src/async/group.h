// Owns running tasks: whoever spawns also joins.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <type_traits>

#include "async/executor.h"
#include "async/sync.h"
#include "async/task.h"

namespace cubeplane::async {

// Threading: use on the executor. Lifetime: Join for an orderly end. The destructor destroys the frames that
// are still suspended where they stand, as a killed process would (the simulation relies on it); what their
// locals own is released.
class TaskGroup {
 public:
  explicit TaskGroup(Executor& executor) : executor_(executor), state_(std::make_shared<State>()) {}
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();

  // Starts `task` on the executor (not inside this call).
  void Spawn(Task<void> task);
  // Asks tasks that hold token() to finish.
  void Stop() { stop_.request_stop(); }
  std::stop_token token() const { return stop_.get_token(); }
  // Stop, then wait for all of them.
  Task<void> Join();
  size_t running() const { return state_->frames.size(); }

 private:
  struct State {
    std::set<void*> frames;  // addresses of running root frames
    std::optional<OneShot<bool>> all_done;
  };
  Executor& executor_;
  std::stop_source stop_;
  std::shared_ptr<State> state_;
};

// Runs `task` to its end on `loop` from outside of it, and gives its value. For main() and tests; blocks this
// thread, which runs the loop itself.
template <class LoopT, class T>
T RunToEnd(LoopT& loop, Task<T> task) {
  if constexpr (std::is_void_v<T>) {
    auto body = [](LoopT& loop, Task<void> task) -> Task<void> {
      co_await std::move(task);
      loop.Stop();
    };
    TaskGroup group(loop);
    group.Spawn(body(loop, std::move(task)));
    loop.Run();
  } else {
    std::optional<T> value;
    auto body = [](LoopT& loop, Task<T> task, std::optional<T>& value) -> Task<void> {
      T result = co_await std::move(task);
      value.emplace(std::move(result));
      loop.Stop();
    };
    TaskGroup group(loop);
    group.Spawn(body(loop, std::move(task), value));
    loop.Run();
    return std::move(*value);
  }
}

}  // namespace cubeplane::async
