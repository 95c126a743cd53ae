// What a kube-apiserver fills in when a field was left out. Pure.
#pragma once

#include "engine/api/kinds.h"
#include "engine/status.h"

namespace cubeplane::engine {

// Defaults of the kind's spec; quantities take their canonical text; a Secret's stringData moves into data.
// Errors: 400 for quantities that cannot be read, as the decoder of a kube-apiserver says it.
Answer<void> ApplyDefaults(const Kind& kind, json::Value& object);
// The status of a new object.
void SetInitialStatus(const Kind& kind, json::Value& object);
// BestEffort, Burstable or Guaranteed, by requests and limits of cpu and memory.
std::string QosClass(const json::Value& pod_spec);

}  // namespace cubeplane::engine
