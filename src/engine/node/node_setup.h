// What a node makes in DATA and RUN before it serves, and finds again after a restart.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/node/config.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

struct NodeFolders {
  Fd pods;      // DATA/pods
  Fd projects;  // DATA/projects
  Fd lock;      // held while the node lives: a second node on the same DATA is refused
};

// Makes DATA/{pods,projects,bin} (0711, this user's) and RUN/pods, takes the lock, copies this program to
// DATA/bin/cubeplane-<hash> (so that a rebuild does not touch running pods), and fills `config.instance` and
// `config.binary`. kForbidden: a folder belongs to another or is writable by others. kUnavailable: in use by
// another node.
Result<NodeFolders> SetUpNode(NodeConfig& config);

// What the node left about itself in DATA/pods: instance, run folder, its process.
struct NodeRecord {
  std::string instance, run;
  pid_t pid = 0;
  uint64_t start = 0;
};
Result<NodeRecord> ReadNodeRecord(int pods);
inline constexpr const char *kNodeLock = ".node.lock", *kNodeRecord = ".node.json";

}  // namespace cubeplane::engine::node
