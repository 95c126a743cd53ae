#include "engine/quota.h"

#include <utility>

#include "log/log.h"
#include "scheduler/limit_range.h"

namespace cubeplane::engine {
namespace {

using scheduler::ResourceList;

// 403 with Kubernetes' frame around the scheduler's sentence; other codes pass as they are.
ApiError Refusal(const Kind& kind, const json::Value& object, const Error& error) {
  if (error.code == Code::kForbidden || error.code == Code::kQuotaExceeded) {
    const std::string& name = NameOf(object);
    return ForbiddenError(kind, name.empty() ? "Unknown" : name, error.message);
  }
  return error;
}

json::Value ToJson(const ResourceList& list) {
  json::Object out;
  for (const auto& [name, amount] : list) out.Set(name, amount.ToString());
  return out;
}

Result<std::vector<scheduler::LimitItem>> LimitsOf(const Store& store, const std::string& space) {
  std::vector<scheduler::LimitItem> all;
  for (const ObjectPtr& range : store.List("limitranges", space)) {
    ASSIGN_OR_RETURN(auto items, scheduler::ReadLimitRange(*range));
    all.insert(all.end(), items.begin(), items.end());
  }
  return all;
}

}  // namespace

Answer<void> Quotas::Admit(const Kind& kind, json::Value& object, const json::Value* before) const {
  // Updates cannot raise what is counted: specs of pods and claims are fixed.
  if (before != nullptr || !kind.namespaced || kind.kind == "Event") return {};
  if (kind.kind == "Pod") return AdmitPod(kind, object);
  ResourceList extra;
  if (kind.kind == "PersistentVolumeClaim") {
    RETURN_IF_ERROR(AdmitClaim(kind, object));
    ASSIGN_OR_RETURN(extra, scheduler::ClaimUsage(object));
  }
  if (kind.kind == "Service") extra = scheduler::ServiceUsage(object);
  ASSIGN_OR_RETURN(const auto quotas, QuotasOf(NamespaceOf(object)));
  const auto admitted = scheduler::AdmitObject(quotas, kind.plural, kind.group, extra);
  if (!admitted) return Refuse(Refusal(kind, object, admitted.error()));
  return {};
}

Answer<void> Quotas::AdmitPod(const Kind& kind, json::Value& pod) const {
  ASSIGN_OR_RETURN(const auto limits, LimitsOf(cluster_.store, NamespaceOf(pod)));
  ASSIGN_OR_RETURN(scheduler::PodResources resources, scheduler::ReadPodResources(pod));
  scheduler::CopyLimitsToRequests(resources);
  const std::string filled = scheduler::ApplyLimitRange(limits, resources);
  scheduler::WritePodResources(resources, pod);
  if (!filled.empty()) SetAnnotation(pod, "kubernetes.io/limit-ranger", filled);
  if (const auto checked = scheduler::CheckLimitRange(limits, resources); !checked)
    return Refuse(Refusal(kind, pod, checked.error()));
  ASSIGN_OR_RETURN(const auto quotas, QuotasOf(NamespaceOf(pod)));
  if (const auto admitted = scheduler::AdmitPod(quotas, resources); !admitted)
    return Refuse(Refusal(kind, pod, admitted.error()));
  return {};
}

Answer<void> Quotas::AdmitClaim(const Kind& kind, const json::Value& claim) const {
  ASSIGN_OR_RETURN(const auto limits, LimitsOf(cluster_.store, NamespaceOf(claim)));
  ResourceList requests;
  for (const auto& [name, amount] : claim["spec"]["resources"]["requests"].AsObject()) {
    ASSIGN_OR_RETURN(requests[name], Quantity::Parse(amount.AsString()));
  }
  if (const auto checked = scheduler::CheckClaimLimits(limits, requests); !checked)
    return Refuse(Refusal(kind, claim, checked.error()));
  return {};
}

Result<ResourceList> Quotas::UsageOf(const Kind& kind, const json::Value& object,
                                     const scheduler::Quota& quota) const {
  if (kind.kind == "Pod") {
    // A pod that has ended holds nothing but its own entry.
    if (IsTerminalPhase(PhaseOf(object))) return ResourceList{{"count/pods", Quantity::FromInt(1)}};
    ASSIGN_OR_RETURN(const auto resources, scheduler::ReadPodResources(object));
    if (!scheduler::QuotaMatchesPod(quota, resources)) return ResourceList{};
    return scheduler::PodUsage(resources);
  }
  if (!quota.scopes.empty()) return ResourceList{};  // scopes are about pods
  ResourceList extra;
  if (kind.kind == "PersistentVolumeClaim") {
    ASSIGN_OR_RETURN(extra, scheduler::ClaimUsage(object));
  }
  if (kind.kind == "Service") extra = scheduler::ServiceUsage(object);
  return scheduler::ObjectUsage(kind.plural, kind.group, extra);
}

// Of every key that the quota limits, what the namespace holds now.
Result<ResourceList> Quotas::Used(const std::string& space, const scheduler::Quota& quota) const {
  ResourceList sums;
  for (const Kind& kind : Kinds()) {
    if (!kind.namespaced || kind.kind == "Event") continue;
    for (const ObjectPtr& object : cluster_.store.List(kind.Qualified(), space)) {
      ASSIGN_OR_RETURN(const ResourceList usage, UsageOf(kind, *object, quota));
      RETURN_IF_ERROR(scheduler::AddTo(sums, usage));
    }
  }
  ResourceList used;
  for (const auto& [key, limit] : quota.hard)
    used[key] = sums.contains(key) ? sums[key] : Quantity::FromInt(0, limit.format());
  return used;
}

Result<std::vector<scheduler::Quota>> Quotas::QuotasOf(const std::string& space) const {
  std::vector<scheduler::Quota> quotas;
  for (const ObjectPtr& object : cluster_.store.List("resourcequotas", space)) {
    // The spec decides, not a status that lags behind it.
    json::Value fresh = *object;
    fresh.Set("status", json::Object{});
    ASSIGN_OR_RETURN(scheduler::Quota quota, scheduler::ReadQuota(fresh));
    ASSIGN_OR_RETURN(quota.used, Used(space, quota));
    quotas.push_back(std::move(quota));
  }
  return quotas;
}

void Quotas::Observe(const Change& change) {
  if (change.key.resource == "events" || change.key.namespace_name.empty()) return;
  const bool pod = change.key.resource == "pods" && change.type == Change::Type::kModified;
  if (pod && IsTerminalPhase(PhaseOf(*change.object)) == IsTerminalPhase(PhaseOf(*change.previous))) return;
  marked_.insert(change.key.namespace_name);
}

void Quotas::Reconcile() {
  for (const std::string& space : std::exchange(marked_, {})) {
    const auto quotas = QuotasOf(space);
    if (!quotas) {
      log::Warn("engine: counting quota", {{"namespace", space}, {"error", quotas.error().message}});
      continue;
    }
    for (const scheduler::Quota& quota : *quotas) {
      (void)cluster_.Modify({"resourcequotas", space, quota.name}, [&](json::Value& object) {
        object.Set("status", json::Object{{"hard", object["spec"]["hard"]}, {"used", ToJson(quota.used)}});
      });
    }
  }
}

}  // namespace cubeplane::engine
