#include "engine/api/kinds.h"

namespace cubeplane::engine {
namespace {

std::vector<Kind> MakeKinds() {
  std::vector<Kind> kinds;
  const auto add = [&kinds](std::string plural, std::string singular, std::string kind,
                            std::vector<std::string> short_names) -> Kind& {
    Kind entry;
    entry.plural = std::move(plural);
    entry.singular = std::move(singular);
    entry.kind = std::move(kind);
    entry.short_names = std::move(short_names);
    return kinds.emplace_back(std::move(entry));
  };
  add("configmaps", "configmap", "ConfigMap", {"cm"});
  add("endpoints", "endpoints", "Endpoints", {"ep"});
  add("events", "event", "Event", {"ev"}).fields = {"involvedObject.kind",
                                                    "involvedObject.namespace",
                                                    "involvedObject.name",
                                                    "involvedObject.uid",
                                                    "reason",
                                                    "reportingComponent",
                                                    "source",
                                                    "type"};
  add("limitranges", "limitrange", "LimitRange", {"limits"});
  Kind& namespaces = add("namespaces", "namespace", "Namespace", {"ns"});
  namespaces.namespaced = false;
  namespaces.has_status = true;
  namespaces.fields = {"status.phase"};
  Kind& nodes = add("nodes", "node", "Node", {"no"});
  nodes.namespaced = false;
  nodes.has_status = true;
  nodes.fields = {"spec.unschedulable"};
  add("persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", {"pvc"}).has_status = true;
  Kind& pods = add("pods", "pod", "Pod", {"po"});
  pods.has_status = true;
  pods.fields = {"status.phase",       "spec.nodeName",           "spec.restartPolicy",
                 "spec.schedulerName", "spec.serviceAccountName", "status.podIP"};
  add("resourcequotas", "resourcequota", "ResourceQuota", {"quota"}).has_status = true;
  add("secrets", "secret", "Secret", {}).fields = {"type"};
  add("serviceaccounts", "serviceaccount", "ServiceAccount", {"sa"});
  Kind& services = add("services", "service", "Service", {"svc"});
  services.has_status = true;
  services.fields = {"spec.clusterIP", "spec.type"};
  Kind& sets = add("statefulsets", "statefulset", "StatefulSet", {"sts"});
  sets.group = "apps";
  sets.has_status = sets.has_scale = sets.has_generation = true;
  return kinds;
}

}  // namespace

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = MakeKinds();
  return kinds;
}

const Kind* FindKind(std::string_view group, std::string_view version, std::string_view plural) {
  for (const Kind& kind : Kinds()) {
    if (kind.group == group && kind.version == version && kind.plural == plural) return &kind;
  }
  return nullptr;
}

const Kind* FindKindByResource(std::string_view resource) {
  for (const Kind& kind : Kinds()) {
    if (kind.Qualified() == resource) return &kind;
  }
  return nullptr;
}

const Kind* FindKindByName(std::string_view api_version, std::string_view name) {
  for (const Kind& kind : Kinds()) {
    if (kind.kind == name && kind.ApiVersion() == api_version) return &kind;
  }
  return nullptr;
}

}  // namespace cubeplane::engine
