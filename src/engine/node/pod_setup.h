// What a supervisor makes before the first process of its pod, and takes away after the last.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/node/cgroup.h"
#include "engine/node/config.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

struct PodResources {
  Fd control_listener;  // RUN/pods/<uid>/ctl
  Fd door_listener;     // RUN/pods/<uid>/door, when the pod has a door
};

// Reads and checks run.json of the pod's folder.
Result<PodFile> LoadPodFile(int pod_folder);
// Image, code archives, run folder, sockets. kInvalid: this pod can never start here.
Result<PodResources> PreparePod(const PodFile& pod, int pod_folder);
// Control groups of the pod. Both kinds of names in one place: node and supervisor must agree.
Cgroup PayloadCgroup(const NodeConfig& node, const std::string& uid);
Cgroup HelperCgroup(const NodeConfig& node, const std::string& uid);
Result<void> CreateCgroups(const PodFile& pod, Cgroup& payload, Cgroup& helpers);
// Removes sockets and the run folder.
void RemoveRunFolder(const NodeConfig& node, const std::string& uid);

}  // namespace cubeplane::engine::node
