#include "scheduler/quota.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "model/problems.h"

namespace cubeplane::scheduler {
namespace {

// Keys that a quota enforces by demanding a value from every container (Kubernetes calls this a mistake and
// keeps it).
constexpr std::array<std::string_view, 6> kDemanded = {"cpu",    "limits.cpu",   "limits.memory",
                                                       "memory", "requests.cpu", "requests.memory"};
constexpr std::array<std::string_view, 11> kPodKeys = {
    "cpu",          "memory",          "ephemeral-storage",
    "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    "limits.cpu",   "limits.memory",   "limits.ephemeral-storage",
    "pods",         "count/pods"};
// Objects that have a key without `count/`.
constexpr std::array<std::string_view, 6> kPlainCounts = {
    "persistentvolumeclaims", "services",      "secrets", "configmaps",
    "replicationcontrollers", "resourcequotas"};

template <size_t n>
bool Has(const std::array<std::string_view, n>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsPodKey(std::string_view key) {
  if (Has(kPodKeys, key) || key.starts_with("hugepages-") || key.starts_with("requests.hugepages-"))
    return true;
  return key.starts_with("requests.") && key.find('/') != std::string_view::npos &&
         key.find("kubernetes.io/") == std::string_view::npos;
}

bool IsBestEffort(const PodResources& pod) {
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const ContainerResources& container : *containers) {
      for (const auto* list : {&container.requests, &container.limits}) {
        for (const char* key : {"cpu", "memory"}) {
          const auto amount = list->find(key);
          if (amount != list->end() && !amount->second.IsZero()) return false;
        }
      }
    }
  }
  return true;
}

bool MatchesScope(const std::string& scope, const PodResources& pod) {
  if (scope == "Terminating") return pod.has_deadline;
  if (scope == "NotTerminating") return !pod.has_deadline;
  if (scope == "BestEffort") return IsBestEffort(pod);
  if (scope == "NotBestEffort") return !IsBestEffort(pod);
  return false;
}

// Values that one container gives, by quota key (podComputeUsageHelper).
bool Gives(const ContainerResources& container, std::string_view key) {
  const bool limit = key.starts_with("limits.");
  const std::string resource(key.starts_with("requests.") ? key.substr(9) : limit ? key.substr(7) : key);
  return (limit ? container.limits : container.requests).contains(resource);
}

Result<std::vector<Quota>> Charge(const std::vector<Quota>& quotas, const std::vector<bool>& matches,
                                  const ResourceList& usage) {
  std::vector<Quota> charged = quotas;
  for (size_t i = 0; i < quotas.size(); ++i) {
    if (!matches[i]) continue;
    RETURN_IF_ERROR(CheckQuota(quotas[i], usage));
    for (const auto& [key, amount] : usage) {
      if (!quotas[i].hard.contains(key)) continue;
      RETURN_IF_ERROR(AddTo(charged[i].used, {{key, amount}}));
    }
  }
  return charged;
}

}  // namespace

Result<Quota> ReadQuota(const json::Value& value) {
  model::Problems problems;
  Quota quota;
  quota.name = value["metadata"]["name"].AsString();
  const bool counted = value["status"].Contains("hard");
  quota.hard =
      ReadList(value[counted ? "status" : "spec"]["hard"], counted ? "status.hard" : "spec.hard", problems);
  quota.used = ReadList(value["status"]["used"], "status.used", problems);
  for (const auto& [key, amount] : quota.hard) quota.used.try_emplace(key, Quantity());
  for (const json::Value& scope : value["spec"]["scopes"].AsArray()) quota.scopes.push_back(scope.AsString());
  if (!problems.empty()) return Fail(problems.ToError());
  return quota;
}

bool QuotaMatchesPod(const Quota& quota, const PodResources& pod) {
  for (const std::string& scope : quota.scopes) {
    if (!MatchesScope(scope, pod)) return false;
  }
  return std::any_of(quota.hard.begin(), quota.hard.end(),
                     [](const auto& line) { return IsPodKey(line.first); });
}

Result<void> CheckMustSpecify(const Quota& quota, const PodResources& pod) {
  if (pod.pod_requests || pod.pod_limits) return {};
  std::map<std::string, std::set<std::string>> missing;
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const ContainerResources& container : *containers) {
      for (const auto& [key, limit] : quota.hard) {
        if (Has(kDemanded, key) && !Gives(container, key)) missing[key].insert(container.name);
      }
    }
  }
  if (missing.empty()) return {};
  std::string text;
  for (const auto& [key, names] : missing) {
    text += (text.empty() ? "" : "; ") + key + " for: ";
    for (auto name = names.begin(); name != names.end(); ++name)
      text += (name == names.begin() ? "" : ",") + *name;
  }
  return Fail(Error(Code::kForbidden, "quota_must_specify", {{"quota", quota.name}, {"resources", text}},
                    "failed quota: " + quota.name + ": must specify " + text));
}

Result<void> CheckQuota(const Quota& quota, const ResourceList& delta) {
  ResourceList requested, used, limited;
  std::string negative;
  for (const auto& [key, amount] : delta) {
    if (amount.IsNegative()) negative += (negative.empty() ? "" : ",") + key;
    const auto hard = quota.hard.find(key);
    if (amount.IsZero() || hard == quota.hard.end()) continue;
    const auto now = quota.used.find(key);
    const Quantity before = now == quota.used.end() ? Quantity() : now->second;
    const auto after = Quantity::Sum(before, amount);
    if (after && *after <= hard->second) continue;
    requested[key] = amount;
    used[key] = before;
    limited[key] = hard->second;
  }
  if (!negative.empty())
    return Fail(Code::kForbidden, "quota usage is negative for resource(s): " + negative);
  if (requested.empty()) return {};
  Params params = {{"quota", quota.name},
                   {"requested", ListText(requested)},
                   {"used", ListText(used)},
                   {"limited", ListText(limited)}};
  std::string message = "exceeded quota: " + quota.name + ", requested: " + ListText(requested) +
                        ", used: " + ListText(used) + ", limited: " + ListText(limited);
  return Fail(Error(Code::kQuotaExceeded, "quota_refused", std::move(params), std::move(message)));
}

Result<std::vector<Quota>> AdmitPod(const std::vector<Quota>& quotas, const PodResources& pod) {
  std::vector<bool> matches;
  for (const Quota& quota : quotas) {
    matches.push_back(QuotaMatchesPod(quota, pod));
    if (matches.back()) RETURN_IF_ERROR(CheckMustSpecify(quota, pod));
  }
  ASSIGN_OR_RETURN(const ResourceList usage, PodUsage(pod));
  return Charge(quotas, matches, usage);
}

Result<std::vector<Quota>> AdmitObject(const std::vector<Quota>& quotas, const std::string& plural,
                                       const std::string& group, const ResourceList& extra) {
  // A quota with scopes counts pods only.
  std::vector<bool> matches;
  for (const Quota& quota : quotas) matches.push_back(quota.scopes.empty());
  return Charge(quotas, matches, ObjectUsage(plural, group, extra));
}

ResourceList ObjectUsage(const std::string& plural, const std::string& group, const ResourceList& extra) {
  ResourceList usage = extra;
  usage["count/" + plural + (group.empty() ? "" : "." + group)] = Quantity::FromInt(1);
  if (group.empty() && Has(kPlainCounts, plural)) usage[plural] = Quantity::FromInt(1);
  return usage;
}

Result<ResourceList> ClaimUsage(const json::Value& claim) {
  const json::Value& asked = claim["spec"]["resources"]["requests"]["storage"];
  ResourceList usage;
  const std::string& storage_class = claim["spec"]["storageClassName"].AsString();
  const std::string prefix = storage_class.empty() ? "" : storage_class + ".storageclass.storage.k8s.io/";
  if (!prefix.empty()) usage[prefix + "persistentvolumeclaims"] = Quantity::FromInt(1);
  if (asked.IsNull()) return usage;
  ASSIGN_OR_RETURN(const Quantity storage, Quantity::Parse(model::FoundText(asked)));
  usage["requests.storage"] = storage;
  if (!prefix.empty()) usage[prefix + "requests.storage"] = storage;
  return usage;
}

ResourceList ServiceUsage(const json::Value& service) {
  const std::string& type = service["spec"]["type"].AsString();
  const int64_t ports = static_cast<int64_t>(service["spec"]["ports"].AsArray().size());
  ResourceList usage;
  if (type == "NodePort") usage["services.nodeports"] = Quantity::FromInt(ports);
  if (type == "LoadBalancer") {
    usage["services.loadbalancers"] = Quantity::FromInt(1);
    const json::Value& allocate = service["spec"]["allocateLoadBalancerNodePorts"];
    usage["services.nodeports"] = Quantity::FromInt(allocate.AsBool(true) ? ports : 0);
  }
  return usage;
}

}  // namespace cubeplane::scheduler
