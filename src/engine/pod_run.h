// From a Pod to what the runtime is asked to run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/cluster.h"
#include "engine/runtime.h"

namespace cubeplane::engine {

// Annotations that the engine reads and writes (docs/engine.md).
inline constexpr const char* kDoorPort = "cubeplane.io/door-port";
inline constexpr const char* kDoorSecret =
    "cubeplane.io/door-secret";                                 // a Secret's name; its key is `secret`
inline constexpr const char* kDoor = "cubeplane.io/door";       // written: the door's socket
inline constexpr const char* kDataId = "cubeplane.io/data-id";  // of a namespace: which tenant it is
inline constexpr const char* kDataFolder = "cubeplane.io/data-folder";  // written, of a namespace
inline constexpr const char* kTenantUid = "cubeplane.io/uid";           // written, of a namespace
inline constexpr const char* kDevices =
    "cubeplane.io/devices";  // written: "nvidia.com/gpu=0,nvidia.com/gpu=1"

// Errors: kNotFound when a Secret, ConfigMap or claim is not there (yet), kInvalid when the pod can never
// start.
Result<PodRun> BuildPodRun(const Cluster& cluster, const json::Value& pod, const Tenant& tenant,
                           std::vector<std::string> devices);

}  // namespace cubeplane::engine
