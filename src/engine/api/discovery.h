// What a client asks before it asks for objects: versions, groups, resources.
#pragma once

#include <optional>
#include <string_view>

#include "json/value.h"

namespace cubeplane::engine {

// The version that /version tells: the Kubernetes minor whose semantics the engine follows.
inline constexpr std::string_view kGitVersion = "v1.30.0+cubeplane";

// The document at this path; nullopt when it is none of discovery's.
std::optional<json::Value> Discovery(std::string_view path);

}  // namespace cubeplane::engine
