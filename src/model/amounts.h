// Checks of amounts: what a quantity of a resource must be. Shared by the validation of projects and
// workloads.
#pragma once

#include <string>
#include <string_view>

#include "base/quantity.h"
#include "model/objects.h"
#include "model/problems.h"

namespace cubeplane::model {

// cpu: not negative, whole thousandths. memory, storage: not negative, whole bytes (`128m` gets the hint).
// Everything else: a whole number, not negative. `resource` is the bare name ("cpu", "memory",
// "nvidia.com/gpu").
void CheckAmount(const std::string& path, std::string_view resource, const Quantity& amount,
                 Problems& problems);

// The keys that a quota may hold: requests.*, limits.*, requests.storage, counts.
void CheckQuotaList(const std::string& path, const ResourceList& list, Problems& problems);

// Pairs of limits of one container: min <= defaultRequest <= default <= max, ratio >= 1, known names.
void CheckLimitRange(const std::string& path, const LimitRange& range, Problems& problems);

// A label's key (prefix/name) and value, as Kubernetes takes them.
bool IsLabelKey(std::string_view key);
bool IsLabelValue(std::string_view value);

}  // namespace cubeplane::model
