// What a pod asks for, by Kubernetes' own arithmetic (component-helpers/resource,
// quota/v1/evaluator/core/pods.go). Pure.
//
// Built from a pod's JSON (the engine) or from a workload (the ledger), so that both sides count alike. Sums
// that overflow are errors and never admitted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"
#include "model/problems.h"

namespace cubeplane::scheduler {

using model::ResourceList;

struct ContainerResources {
  std::string name;
  ResourceList requests, limits;
  bool sidecar = false;  // an init container with restartPolicy Always
};

struct PodResources {
  std::vector<ContainerResources> init_containers, containers;
  ResourceList overhead;
  std::optional<ResourceList> pod_requests, pod_limits;  // spec.resources, pod level
  bool has_deadline = false;                             // activeDeadlineSeconds: the quota scope Terminating
  std::string priority_class;
};

// Reads `spec` of a pod (or of a template). Quantities finer than a thousandth are rounded up, as the API
// server does when it stores them. kInvalid with the path of each bad quantity.
Result<PodResources> ReadPodResources(const json::Value& pod);
// Writes requests and limits back into the pod's containers.
void WritePodResources(const PodResources& resources, json::Value& pod);

// A workload's one pod, as the controller renders it: one container `main`.
PodResources ResourcesOf(const model::Workload& workload);

// SetDefaults_Pod: a limit without a request is its own request.
void CopyLimitsToRequests(PodResources& pod);

// Containers are summed; init containers count as the largest of them, each with the sidecars before it;
// overhead is added (to limits only where there is one).
Result<ResourceList> PodRequests(const PodResources& pod);
Result<ResourceList> PodLimits(const PodResources& pod);

// Quota keys of a pod that has not ended: pods, count/pods, cpu, requests.cpu, limits.cpu, …
// requests.<domain>/<resource>.
Result<ResourceList> PodUsage(const PodResources& pod);
// The same of a whole workload, with every object that the controller makes for it (Service, StatefulSet,
// Secret, ConfigMap), each amount under one key only (requests.cpu, never cpu as well).
Result<ResourceList> WorkloadUsage(const model::Workload& workload);

// Whole base units of a quota key or a resource: thousandths for cpu, units (bytes, cards, objects) for all
// others; rounded up. kInvalid when they do not fit an int64.
Result<int64_t> ToBaseUnits(std::string_view key, const Quantity& amount);
Quantity FromBaseUnits(std::string_view key, int64_t units);

// "a=1,b=2", sorted by name, as Kubernetes prints resource lists.
std::string ListText(const ResourceList& list);
// sums[k] += list[k] for every k of `list`.
Result<void> AddTo(ResourceList& sums, const ResourceList& list);

// Name to amount, as `spec.hard` and the lists of a LimitRange have them; what is no quantity becomes a
// problem at `path[name]`.
ResourceList ReadList(const json::Value& value, const std::string& path, model::Problems& problems);

}  // namespace cubeplane::scheduler
