// A pod's status as a kubelet writes it, from what the runtime says. Pure.
#pragma once

#include <string>

#include "engine/runtime.h"
#include "json/value.h"

namespace cubeplane::engine {

// Writes phase, conditions, containerStatuses, and the annotation of the door.
void WritePodStatus(json::Value& pod, const PodState& state, const std::string& now);
// Before the runtime has it: waiting, with this reason ("ContainerCreating", "CreateContainerConfigError").
void WritePodWaiting(json::Value& pod, const std::string& reason, const std::string& message,
                     const std::string& now);
// It can never start here: Failed, with exit code 128 as Kubernetes' StartError.
void WritePodStartError(json::Value& pod, const std::string& message, const std::string& now);

}  // namespace cubeplane::engine
