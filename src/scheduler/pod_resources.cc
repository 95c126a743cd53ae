#include "scheduler/pod_resources.h"

#include <algorithm>

#include "model/problems.h"
#include "model/validate.h"

namespace cubeplane::scheduler {
namespace {

constexpr __int128 kNanoPerMilli = 1'000'000;

Quantity RoundUpToMilli(const Quantity& amount) {
  if (amount.IsWholeMilli()) return amount;
  const __int128 away = amount.IsNegative() ? -1 : 1;
  return Quantity::FromNano((amount.nano() / kNanoPerMilli + away) * kNanoPerMilli, amount.format());
}

// As the API server's defaulting leaves the amounts of a pod.
ResourceList ReadRounded(const json::Value& value, const std::string& path, model::Problems& problems) {
  ResourceList list = ReadList(value, path, problems);
  for (auto& [name, amount] : list) amount = RoundUpToMilli(amount);
  return list;
}

std::vector<ContainerResources> ReadContainers(const json::Value& list, const std::string& path,
                                               model::Problems& problems) {
  std::vector<ContainerResources> containers;
  for (const json::Value& value : list.AsArray()) {
    const std::string place = path + "[" + std::to_string(containers.size()) + "].resources.";
    ContainerResources& container = containers.emplace_back();
    container.name = value["name"].AsString();
    container.requests = ReadRounded(value["resources"]["requests"], place + "requests", problems);
    container.limits = ReadRounded(value["resources"]["limits"], place + "limits", problems);
    container.sidecar = value["restartPolicy"].AsString() == "Always";
  }
  return containers;
}

json::Object ToObject(const ResourceList& list) {
  json::Object object;
  for (const auto& [key, amount] : list) object.Set(key, amount.ToString());
  return object;
}

void WriteContainers(const std::vector<ContainerResources>& containers, json::Value& list) {
  for (size_t i = 0; i < containers.size() && i < list.AsArray().size(); ++i) {
    json::Value& container = list.MakeArray()[i];
    if (containers[i].requests.empty() && containers[i].limits.empty()) continue;
    json::Value& resources = container.MakeObject()["resources"];
    if (!containers[i].limits.empty()) resources.Set("limits", ToObject(containers[i].limits));
    if (!containers[i].requests.empty()) resources.Set("requests", ToObject(containers[i].requests));
  }
}

void MaxInto(ResourceList& list, const ResourceList& other) {
  for (const auto& [key, amount] : other) {
    const auto [place, fresh] = list.try_emplace(key, amount);
    if (!fresh && amount > place->second) place->second = amount;
  }
}

// AggregateContainerRequests and AggregateContainerLimits.
Result<ResourceList> Aggregate(const PodResources& pod, ResourceList ContainerResources::* list) {
  ResourceList sum;
  for (const ContainerResources& container : pod.containers) RETURN_IF_ERROR(AddTo(sum, container.*list));
  ResourceList sidecars, init;
  for (const ContainerResources& container : pod.init_containers) {
    if (container.sidecar) {
      RETURN_IF_ERROR(AddTo(sum, container.*list));
      RETURN_IF_ERROR(AddTo(sidecars, container.*list));
      MaxInto(init, sidecars);
    } else {
      ResourceList alone = container.*list;
      RETURN_IF_ERROR(AddTo(alone, sidecars));
      MaxInto(init, alone);
    }
  }
  MaxInto(sum, init);
  return sum;
}

bool IsPodLevel(const std::string& key) {
  return key == "cpu" || key == "memory" || key.starts_with("hugepages-");
}

bool IsExtended(const std::string& key) {
  return key.find('/') != std::string::npos && key.find("kubernetes.io/") == std::string::npos &&
         !key.starts_with("requests.");
}

void Count(ResourceList& usage, const std::string& plural, const std::string& group) {
  usage["count/" + plural + (group.empty() ? "" : "." + group)] = Quantity::FromInt(1);
}

bool CountsBytes(std::string_view key) {
  return key.find("memory") != std::string_view::npos || key.find("storage") != std::string_view::npos ||
         key.find("hugepages-") != std::string_view::npos;
}

bool CountsCores(std::string_view key) {
  return key == "cpu" || key == "requests.cpu" || key == "limits.cpu";
}

}  // namespace

Result<PodResources> ReadPodResources(const json::Value& pod) {
  const json::Value& spec = pod["spec"];
  model::Problems problems;
  PodResources resources;
  resources.init_containers = ReadContainers(spec["initContainers"], "spec.initContainers", problems);
  resources.containers = ReadContainers(spec["containers"], "spec.containers", problems);
  resources.overhead = ReadRounded(spec["overhead"], "spec.overhead", problems);
  if (spec["resources"].Contains("requests")) {
    resources.pod_requests = ReadRounded(spec["resources"]["requests"], "spec.resources.requests", problems);
  }
  if (spec["resources"].Contains("limits")) {
    resources.pod_limits = ReadRounded(spec["resources"]["limits"], "spec.resources.limits", problems);
  }
  resources.has_deadline = spec["activeDeadlineSeconds"].AsInt(-1) >= 0;
  resources.priority_class = spec["priorityClassName"].AsString();
  if (!problems.empty()) return Fail(problems.ToError());
  return resources;
}

void WritePodResources(const PodResources& resources, json::Value& pod) {
  json::Value& spec = pod.MakeObject()["spec"];
  if (spec.Contains("initContainers"))
    WriteContainers(resources.init_containers, spec.MakeObject()["initContainers"]);
  if (spec.Contains("containers")) WriteContainers(resources.containers, spec.MakeObject()["containers"]);
}

PodResources ResourcesOf(const model::Workload& workload) {
  const model::Resources& asked = workload.spec.resources;
  ContainerResources main;
  main.name = "main";
  main.limits = {{"cpu", asked.cpu}, {"memory", asked.memory}};
  main.requests = {{"cpu", asked.cpu_request.value_or(asked.cpu)},
                   {"memory", asked.memory_request.value_or(asked.memory)}};
  if (asked.ephemeral_storage)
    main.limits["ephemeral-storage"] = main.requests["ephemeral-storage"] = *asked.ephemeral_storage;
  if (asked.gpu) {
    if (const model::Accelerator* card = model::FindAccelerator(asked.gpu->vendor, asked.gpu->model)) {
      // Whole cards: a part of a card takes one.
      const Quantity cards =
          Quantity::FromInt(asked.gpu->milli_cards / 1000 + (asked.gpu->milli_cards % 1000 > 0 ? 1 : 0));
      main.limits[card->resource] = main.requests[card->resource] = cards;
    }
  }
  PodResources pod;
  pod.containers.push_back(std::move(main));
  return pod;
}

void CopyLimitsToRequests(PodResources& pod) {
  for (auto* containers : {&pod.init_containers, &pod.containers}) {
    for (ContainerResources& container : *containers) {
      for (const auto& [key, amount] : container.limits) container.requests.try_emplace(key, amount);
    }
  }
}

Result<ResourceList> PodRequests(const PodResources& pod) {
  ASSIGN_OR_RETURN(ResourceList sum, Aggregate(pod, &ContainerResources::requests));
  if (pod.pod_requests) {
    for (const auto& [key, amount] : *pod.pod_requests) {
      if (IsPodLevel(key)) sum[key] = amount;
    }
  }
  RETURN_IF_ERROR(AddTo(sum, pod.overhead));
  return sum;
}

Result<ResourceList> PodLimits(const PodResources& pod) {
  ASSIGN_OR_RETURN(ResourceList sum, Aggregate(pod, &ContainerResources::limits));
  if (pod.pod_limits) {
    for (const auto& [key, amount] : *pod.pod_limits) {
      if (IsPodLevel(key)) sum[key] = amount;
    }
  }
  for (const auto& [key, amount] : pod.overhead) {
    const auto limit = sum.find(key);
    if (limit == sum.end() || limit->second.IsZero()) continue;
    ASSIGN_OR_RETURN(limit->second, Quantity::Sum(limit->second, amount));
  }
  return sum;
}

Result<ResourceList> PodUsage(const PodResources& pod) {
  ASSIGN_OR_RETURN(const ResourceList requests, PodRequests(pod));
  ASSIGN_OR_RETURN(const ResourceList limits, PodLimits(pod));
  ResourceList usage = {{"pods", Quantity::FromInt(1)}, {"count/pods", Quantity::FromInt(1)}};
  for (const auto& [key, amount] : requests) {
    const bool compute = key == "cpu" || key == "memory" || key == "ephemeral-storage";
    const bool pages = key.starts_with("hugepages-");
    if (compute || pages) usage[key] = amount;
    if (compute || pages || IsExtended(key)) usage["requests." + key] = amount;
  }
  for (const auto& [key, amount] : limits) {
    if (key == "cpu" || key == "memory" || key == "ephemeral-storage") usage["limits." + key] = amount;
  }
  return usage;
}

Result<ResourceList> WorkloadUsage(const model::Workload& workload) {
  ASSIGN_OR_RETURN(ResourceList usage, PodUsage(ResourcesOf(workload)));
  for (const char* alias : {"cpu", "memory", "ephemeral-storage"}) usage.erase(alias);
  const Quantity one = Quantity::FromInt(1);
  if (workload.kind == model::WorkloadKind::kNotebook) {
    Count(usage, "statefulsets", "apps");
    Count(usage, "services", "");
    Count(usage, "secrets", "");
    usage["services"] = usage["secrets"] = one;
  }
  if (!workload.spec.code.empty()) {
    Count(usage, "configmaps", "");
    usage["configmaps"] = one;
  }
  return usage;
}

Result<int64_t> ToBaseUnits(std::string_view key, const Quantity& amount) {
  const bool cores = CountsCores(key);
  const int64_t units = cores ? amount.MilliValue() : amount.Value();
  const Quantity back = FromBaseUnits(key, units);
  // Saturated at the ends: the value itself is beyond them.
  if ((amount.IsNegative() && back > amount) || (!amount.IsNegative() && back < amount)) {
    return Fail(Code::kInvalid, std::string(key) + " " + amount.ToString() + " is too large to count");
  }
  return units;
}

Quantity FromBaseUnits(std::string_view key, int64_t units) {
  if (CountsCores(key)) return Quantity::FromMilli(units);
  return Quantity::FromInt(units,
                           CountsBytes(key) ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI);
}

std::string ListText(const ResourceList& list) {
  std::string text;
  for (const auto& [key, amount] : list) {
    if (!text.empty()) text += ",";
    text += key + "=" + amount.ToString();
  }
  return text;
}

Result<void> AddTo(ResourceList& sums, const ResourceList& list) {
  for (const auto& [key, amount] : list) {
    const auto [place, fresh] = sums.try_emplace(key, amount);
    if (fresh) continue;
    auto sum = Quantity::Sum(place->second, amount);
    if (!sum) return Fail(sum.error().Wrap(key));
    place->second = *sum;
  }
  return {};
}

ResourceList ReadList(const json::Value& value, const std::string& path, model::Problems& problems) {
  ResourceList list;
  for (const auto& [key, amount] : value.AsObject()) {
    const std::string text = model::FoundText(amount);
    if (auto quantity = Quantity::Parse(text)) {
      list[key] = *quantity;
    } else {
      problems.Add(path + "[" + key + "]", text, "a quantity such as 2, 500m or 64Gi");
    }
  }
  return list;
}

}  // namespace cubeplane::scheduler
