// Takes the log of an attempt from the cluster into a file of our own before its pod goes.
#pragma once

#include <set>
#include <string>

#include "async/group.h"
#include "async/pool.h"
#include "base/result.h"
#include "kube/client.h"

namespace cubeplane::controller::workload {

inline constexpr size_t kMaxKeptLog = 64u << 20;  // bytes; the rest is left out, and a last line says so

// Threading: on the control thread; the files are written on the pool.
class LogKeeper {
 public:
  // Files are `<folder>/<workload uid>-a<attempt>.log`, each line `<RFC 3339 time> <text>`.
  LogKeeper(kube::Client& client, std::string folder, async::Executor& executor, async::BlockingPool& pool);

  std::string PathOf(const std::string& workload_uid, int32_t attempt) const;
  // The whole log as it is now. Errors are kept apart from the workload's end: a log that cannot be had must
  // not hold up the release of its quota.
  async::Task<Result<void>> Keep(std::string name_space, std::string pod, std::string path);
  // Begins to follow, and goes on until the pod ends: for pods that are about to be deleted. Once per path.
  void Follow(std::string name_space, std::string pod, std::string path);
  bool IsFollowing(const std::string& path) const { return following_.contains(path); }
  // Removes, once an hour, files that were written longer ago than `retention`. A step of the wall clock
  // while we run does not shorten it: time is counted from the start on the monotonic clock.
  void SweepHourly(const Clock& clock, Duration retention);
  async::Task<void> Stop();

 private:
  async::Task<Result<void>> Copy(std::string name_space, std::string pod, std::string path, bool follow);
  async::Task<void> Sweep(const Clock& clock, Duration retention);
  async::Task<void> FollowToEnd(std::string name_space, std::string pod, std::string path);

  kube::Client& client_;
  const std::string folder_;
  async::Executor& executor_;
  async::BlockingPool& pool_;
  async::TaskGroup group_;
  std::set<std::string> following_;
};

// Removes files of `folder` that end in ".log" or ".part" and were written before `before`. Gives how many.
size_t RemoveOldLogs(const std::string& folder, Time before);

}  // namespace cubeplane::controller::workload
