#include "async/group.h"

namespace cubeplane::async {
namespace {

// A coroutine that owns itself: its frame goes when it ends.
struct Root {
  struct promise_type {
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Root Drive(Task<void> task, std::move_only_function<void()> done) {
  co_await std::move(task);
  done();
}

}  // namespace

TaskGroup::~TaskGroup() {
  // A frame's locals may spawn or end others while they go, so take one at a time.
  while (!state_->frames.empty()) {
    void* frame = *state_->frames.begin();
    state_->frames.erase(state_->frames.begin());
    std::coroutine_handle<>::from_address(frame).destroy();
  }
}

void TaskGroup::Spawn(Task<void> task) {
  auto self = std::make_shared<void*>(nullptr);
  Root root = Drive(std::move(task), [state = state_, self] {
    state->frames.erase(*self);
    if (state->frames.empty() && state->all_done) state->all_done->Set(true);
  });
  *self = root.handle.address();
  state_->frames.insert(*self);
  executor_.Post([state = state_, self] {
    if (state->frames.contains(*self)) std::coroutine_handle<>::from_address(*self).resume();
  });
}

Task<void> TaskGroup::Join() {
  Stop();
  if (state_->frames.empty()) co_return;
  state_->all_done.emplace(executor_);
  OneShot<bool> done = *state_->all_done;
  co_await done.Wait();
}

}  // namespace cubeplane::async
