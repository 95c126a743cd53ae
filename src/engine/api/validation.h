// Whether an object may be stored: Kubernetes' rules and words for the kinds served here, and what the engine
// itself refuses because it could not keep the promise. Pure.
#pragma once

#include "engine/api/kinds.h"
#include "engine/status.h"

namespace cubeplane::engine {

// After defaulting. Empty when all is well.
FieldErrors Validate(const Kind& kind, const json::Value& object);
// What an update may not change; `object` has passed Validate.
FieldErrors ValidateUpdate(const Kind& kind, const json::Value& object, const json::Value& before);
// A pod's spec, in a Pod or in a template; `path` is "spec" or "spec.template.spec".
FieldErrors ValidatePodSpec(const json::Value& spec, const std::string& path);

}  // namespace cubeplane::engine
