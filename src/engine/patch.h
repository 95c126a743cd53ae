// The ways to change a part of an object: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and Kubernetes'
// strategic merge patch. Pure.
#pragma once

#include "engine/status.h"

namespace cubeplane::engine {

json::Value MergePatch(json::Value target, const json::Value& patch);

// Errors: 400 for a malformed patch, 422 for one that does not apply (a failed `test`, a path that is not
// there).
Answer<json::Value> JsonPatch(json::Value target, const json::Value& patch);
inline constexpr size_t kMaxPatchOperations = 10'000;

// Lists with a merge key (MergeKeyOf) are merged by it, lists of finalizers are united, other lists replaced.
// Known directives: `$patch: delete | replace | merge`, `$deleteFromPrimitiveList/…`; `$setElementOrder/…`
// and `$retainKeys` are read over. Errors: 400 for a list entry without its merge key and for unknown
// directives.
Answer<json::Value> StrategicMergePatch(json::Value target, const json::Value& patch);
// "containers" -> "name", "env" -> "name", "conditions" -> "type", …; "" for lists that are replaced.
std::string_view MergeKeyOf(std::string_view field);

}  // namespace cubeplane::engine
