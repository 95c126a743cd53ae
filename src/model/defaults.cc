#include <algorithm>

#include "model/validate.h"

namespace cubeplane::model {
namespace {

const Quantity kDefaultCpu = Quantity::FromInt(1);
const Quantity kDefaultMemory = Quantity::FromInt(int64_t{1} << 30, Quantity::Format::kBinarySI);
const Quantity kDefaultShm = Quantity::FromInt(int64_t{64} << 20, Quantity::Format::kBinarySI);

const Quantity* Find(const ResourceList& list, const std::string& key) {
  const auto found = list.find(key);
  return found == list.end() ? nullptr : &found->second;
}

// A size that was left out takes the limit range's defaults for limit and request; one that was given keeps
// request = limit.
void FillSize(const LimitRange& range, const std::string& key, const Quantity& built_in, Quantity& limit,
              std::optional<Quantity>& request) {
  if (!limit.IsZero()) return;
  if (const Quantity* value = Find(range.default_limit, key)) {
    limit = *value;
    const Quantity* asked = Find(range.default_request, key);
    if (!request && asked != nullptr && *asked != limit) request = *asked;
  } else {
    limit = built_in;
    if (const Quantity* min = Find(range.min, key); min != nullptr && limit < *min) limit = *min;
    if (const Quantity* max = Find(range.max, key); max != nullptr && limit > *max) limit = *max;
  }
  // A request above a limit that nobody wrote means that much.
  if (request && *request > limit) limit = *request;
}

void Rename(ResourceList& list, const std::string& alias, const std::string& key) {
  const auto found = list.find(alias);
  if (found == list.end()) return;
  const Quantity value = found->second;
  list.erase(found);
  const auto [place, fresh] = list.try_emplace(key, value);
  if (!fresh && value < place->second) place->second = value;
}

// Kubernetes' SetDefaults_LimitRangeItem for containers.
void FillLimitRange(LimitRange& range) {
  for (const auto& [key, value] : range.max) range.default_limit.try_emplace(key, value);
  for (const auto& [key, value] : range.default_limit) range.default_request.try_emplace(key, value);
  for (const auto& [key, value] : range.min) range.default_request.try_emplace(key, value);
}

}  // namespace

void ApplyDefaults(Workload& workload, const LimitRange& limits) {
  Resources& resources = workload.spec.resources;
  FillSize(limits, "cpu", kDefaultCpu, resources.cpu, resources.cpu_request);
  FillSize(limits, "memory", kDefaultMemory, resources.memory, resources.memory_request);
  if (!resources.shm) resources.shm = std::min(kDefaultShm, resources.memory);
  if (resources.gpu) {
    if (const Accelerator* row = FindAccelerator(resources.gpu->vendor, resources.gpu->model)) {
      resources.gpu->model = row->model;
      if (!resources.gpu->vendor.empty()) resources.gpu->vendor = row->vendor;
    }
  }
}

void ApplyDefaults(Project& project) {
  for (Binding& binding : project.spec.bindings) {
    for (const char* key : {"cpu", "memory", "ephemeral-storage"}) {
      Rename(binding.quota, key, std::string("requests.") + key);
      for (PoolQuota& pool : binding.pools) Rename(pool.limits, key, std::string("requests.") + key);
    }
    FillLimitRange(binding.limit_range);
  }
}

}  // namespace cubeplane::model
