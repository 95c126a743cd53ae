// Defaults and validation. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/objects.h"

namespace cubeplane::model {

// One kind of card: a row of api/accelerators.yaml.
struct Accelerator {
  std::string model, vendor, resource;  // "A100", "nvidia", "nvidia.com/gpu"
  int64_t memory_mib = 0;
  std::string price_class;
};
// Matched without case; nullptr when unknown. With an empty model: the vendor's generic row (any card); with
// neither: NVIDIA's.
const Accelerator* FindAccelerator(std::string_view vendor, std::string_view model);
// The whole table, in the file's order.
const std::vector<Accelerator>& Accelerators();

// Fills what was left out: sizes from the limit range's defaults (else built-in: 1 core, 1Gi, raised to its
// minimum), shm, and the model as the table spells it. A Notebook without a command keeps none: the
// controller, which knows its port, gives it one.
void ApplyDefaults(Workload& workload, const LimitRange& limits);
// Writes each quota under one key (`cpu` and `requests.cpu` are one limit: the smaller stays, as
// requests.cpu) and the limit range's silent defaults (Kubernetes takes max for a missing default, and that
// for a missing defaultRequest).
void ApplyDefaults(Project& project);

// kInvalid with every problem: names, sizes, roles, doubled members and bindings, pools beyond the quota's
// line (decision 10), unknown cards, values below zero, more replicas than built.
Result<void> Validate(const Workload& workload);
Result<void> Validate(const Project& project);

// A DNS label without `--` of at most `max` characters; the problem's `allowed` carries a name that would do.
std::optional<FieldProblem> CheckName(std::string_view path, std::string_view name, size_t max);
inline constexpr size_t kMaxProjectName = 20;
inline constexpr size_t kMaxWorkloadName = 30;

}  // namespace cubeplane::model
