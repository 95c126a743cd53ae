#include "controller/project/decide.h"

#include "controller/names.h"

namespace cubeplane::controller::project {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value Metadata(const model::Project& project, std::string_view instance, std::string name, bool namespaced) {
  Object labels;
  labels.Set(kManagedBy, "cubeplane");
  labels.Set(kLabelInstance, instance);
  labels.Set(kLabelProject, project.metadata.name);
  Object metadata{{"name", std::move(name)}, {"labels", std::move(labels)}};
  if (namespaced) metadata.Set("namespace", NamespaceOf(project.metadata.name));
  return metadata;
}

Object Amounts(const model::ResourceList& list) {
  Object amounts;
  for (const auto& [name, amount] : list) amounts.Set(name, amount.ToString());
  return amounts;
}

Value Namespace(const model::Project& project, std::string_view instance) {
  Value metadata = Metadata(project, instance, NamespaceOf(project.metadata.name), false);
  metadata.MakeObject()["labels"].Set("pod-security.kubernetes.io/enforce", "baseline");
  metadata.Set("annotations", Object{{std::string(kDataId), project.metadata.uid}});
  return Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", std::move(metadata)}};
}

Value LimitRangeObject(const model::Project& project, const model::LimitRange& range,
                       std::string_view instance) {
  Object item{{"type", "Container"}};
  auto add = [&item](std::string_view key, const model::ResourceList& list) {
    if (!list.empty()) item.Set(key, Amounts(list));
  };
  add("default", range.default_limit);
  add("defaultRequest", range.default_request);
  add("max", range.max);
  add("min", range.min);
  add("maxLimitRequestRatio", range.max_ratio);
  return Object{{"apiVersion", "v1"},
                {"kind", "LimitRange"},
                {"metadata", Metadata(project, instance, LimitRangeName(project.metadata.name), true)},
                {"spec", Object{{"limits", Array{std::move(item)}}}}};
}

Value QuotaObject(const model::Project& project, const model::ResourceList& hard, std::string_view instance) {
  return Object{{"apiVersion", "v1"},
                {"kind", "ResourceQuota"},
                {"metadata", Metadata(project, instance, QuotaName(project.metadata.name), true)},
                {"spec", Object{{"hard", Amounts(hard)}}}};
}

Value Claim(const model::Project& project, std::string_view instance) {
  return Object{{"apiVersion", "v1"},
                {"kind", "PersistentVolumeClaim"},
                {"metadata", Metadata(project, instance, std::string(kDataClaim), true)},
                {"spec", Object{{"accessModes", Array{"ReadWriteMany"}},
                                {"resources", Object{{"requests", Object{{"storage", "1Gi"}}}}}}}};
}

// Equal as amounts: "1000m" and "1" are the same.
bool SameAmounts(const Value& wanted, const Value& found) {
  if (wanted.AsObject().size() != found.AsObject().size()) return false;
  for (const auto& [name, amount] : wanted.AsObject()) {
    const Result<Quantity> a = Quantity::Parse(amount.AsString());
    const Result<Quantity> b = Quantity::Parse(found[name].AsString());
    if (!a || !b || *a != *b) return false;
  }
  return true;
}

bool SameLimitRange(const Value& wanted, const Value& found) {
  const Value& a = wanted.At("spec.limits.0");
  const Value& b = found.At("spec.limits.0");
  if (found.At("spec.limits").AsArray().size() != 1 || b["type"].AsString() != "Container") return false;
  for (const char* key : {"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"}) {
    if (!SameAmounts(a[key], b[key])) return false;
  }
  return true;
}

// The found object with our spec, so that the update carries its resourceVersion.
Value WithSpec(Value found, const Value& wanted) {
  found.Set("spec", wanted["spec"]);
  return found;
}

bool QuotaIsCounted(const Value& quota) {
  for (const auto& [key, amount] : quota.At("spec.hard").AsObject()) {
    if (quota["status"]["hard"][key].AsString().empty()) return false;
  }
  return true;
}

}  // namespace

Plan Decide(const model::Project& project, const model::Binding& binding, std::string_view instance,
            const Seen& seen) {
  Plan plan;
  if (!seen.caches_complete) {
    plan.reason = {"cluster_not_seen", {{"cluster", binding.cluster}}};
    return plan;
  }
  const std::string name = NamespaceOf(project.metadata.name);
  if (seen.name_space.IsNull()) {
    plan.changes.push_back({Verb::kCreate, "Namespace", Namespace(project, instance)});
  } else if (seen.name_space["metadata"]["labels"][kLabelInstance].AsString() != instance) {
    // Not ours: another installation's, or somebody's own. Never touched.
    plan.reason = {"namespace_not_ours", {{"namespace", name}, {"cluster", binding.cluster}}};
    return plan;
  } else if (seen.name_space["metadata"].Contains("deletionTimestamp")) {
    plan.reason = {"namespace_going", {{"namespace", name}, {"cluster", binding.cluster}}};
    return plan;
  }
  if (!binding.limit_range.empty()) {
    Value wanted = LimitRangeObject(project, binding.limit_range, instance);
    if (seen.limit_range.IsNull()) {
      plan.changes.push_back({Verb::kCreate, "LimitRange", std::move(wanted)});
    } else if (!SameLimitRange(wanted, seen.limit_range)) {
      plan.changes.push_back({Verb::kUpdate, "LimitRange", WithSpec(seen.limit_range, wanted)});
    }
  }
  Value quota = QuotaObject(project, binding.quota, instance);
  if (seen.quota.IsNull()) {
    plan.changes.push_back({Verb::kCreate, "ResourceQuota", std::move(quota)});
  } else if (!SameAmounts(quota.At("spec.hard"), seen.quota.At("spec.hard"))) {
    plan.changes.push_back({Verb::kUpdate, "ResourceQuota", WithSpec(seen.quota, quota)});
  }
  if (seen.claim.IsNull())
    plan.changes.push_back({Verb::kCreate, "PersistentVolumeClaim", Claim(project, instance)});
  if (!plan.changes.empty()) {
    plan.reason = {"project_being_made", {{"namespace", name}, {"cluster", binding.cluster}}};
  } else if (!QuotaIsCounted(seen.quota)) {
    plan.reason = {"quota_not_counted",
                   {{"quota", QuotaName(project.metadata.name)}, {"cluster", binding.cluster}}};
  } else if (seen.service_account.IsNull()) {
    plan.reason = {"service_account_missing", {{"namespace", name}, {"cluster", binding.cluster}}};
  } else {
    plan.ready = true;
  }
  return plan;
}

}  // namespace cubeplane::controller::project
