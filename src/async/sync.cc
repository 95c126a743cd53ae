#include "async/sync.h"

namespace cubeplane::async {

Task<bool> Sleep(Executor& executor, Duration duration, std::stop_token stop) {
  if (stop.stop_requested()) co_return false;
  OneShot<bool> done(executor);
  const TimerId timer = executor.PostAt(executor.clock().MonoNow() + duration, [done] { done.Set(true); });
  std::stop_callback on_stop(stop, [done] { done.Set(false); });
  const bool slept = co_await done.Wait();
  if (!slept) executor.Cancel(timer);
  co_return slept;
}

Task<void> Yield(Executor& executor) {
  OneShot<bool> turn(executor);
  executor.Post([turn] { turn.Set(true); });
  co_await turn.Wait();
}

}  // namespace cubeplane::async
