// The pods' folders below DATA/pods: who is alive, what the dead left behind, and taking it away.
//
// A pod's supervisor lives exactly as long as somebody holds the lock of its folder; a process id alone
// proves nothing (it may be a zombie's, or another's by now). Threading: one owner. Calls block for a few
// milliseconds, at most kLockWait.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/node/config.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

inline constexpr Duration kLockWait = std::chrono::seconds(5);

class PodStore {
 public:
  PodStore(NodeConfig node, Fd pods) : node_(std::move(node)), pods_(std::move(pods)) {}

  // UIDs of the pods that have not been removed (folders that only keep a log are not among them).
  std::vector<std::string> List() const;
  bool Exists(const std::string& uid) const;
  Result<SupervisorRecord> Read(const std::string& uid) const;
  bool HasSupervisor(const std::string& uid) const;

  // Makes the folder with run.json. kAlreadyExists when there is such a pod.
  Result<Fd> Create(const PodFile& pod);
  // Kills the supervisor, if there is one, and waits for its lock.
  Result<void> KillSupervisor(const std::string& uid);
  // For a pod without supervisor: kills what may be left of its tree, removes control groups and sockets, and
  // marks it lost unless it had ended in order. Gives the final state.
  Result<PodState> Reap(const std::string& uid);
  // Both of the above, then the folder; with `keep_log`, all but its logs.
  Result<void> Remove(const std::string& uid, bool keep_log);
  // Removes copies of earlier programs that no pod with a supervisor runs.
  void RemoveOldBinaries() const;
  const NodeConfig& node() const { return node_; }

 private:
  Result<Fd> Folder(const std::string& uid) const;
  NodeConfig node_;
  Fd pods_;
};

}  // namespace cubeplane::engine::node
