#include "engine/api/defaults.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "engine/cluster.h"

namespace cubeplane::engine {
namespace {

void Default(json::Value& object, std::string_view key, json::Value value) {
  if (object[key].IsNull()) object.Set(key, std::move(value));
}

Answer<void> Canonical(const Kind& kind, json::Value& list) {
  if (!list.IsObject()) return {};
  for (auto& [name, value] : list.MakeObject()) {
    const std::string text = value.IsNumber() ? json::Value(value).IsInt() ? std::to_string(value.AsInt())
                                                                           : std::to_string(value.AsDouble())
                                              : value.AsString();
    const auto quantity = Quantity::Parse(text);
    if (!quantity) {
      return Refuse(BadRequest(kind.kind + " in version \"" + kind.version + "\" cannot be handled as a " +
                               kind.kind + ": resource " + name + ": " + quantity.error().message));
    }
    value = quantity->ToString();
  }
  return {};
}

void DefaultProbe(json::Value& probe) {
  Default(probe, "timeoutSeconds", 1);
  Default(probe, "periodSeconds", 10);
  Default(probe, "successThreshold", 1);
  Default(probe, "failureThreshold", 3);
  if (!probe["httpGet"].IsObject()) return;
  Default(Sub(probe, "httpGet"), "path", "/");
  Default(Sub(probe, "httpGet"), "scheme", "HTTP");
}

std::string PullPolicy(const std::string& image) {
  const size_t slash = image.rfind('/');
  const size_t colon = image.find(':', slash == std::string::npos ? 0 : slash);
  const bool latest = colon == std::string::npos || image.substr(colon) == ":latest";
  return latest && image.find('@') == std::string::npos ? "Always" : "IfNotPresent";
}

Answer<void> DefaultContainer(const Kind& kind, json::Value& container) {
  json::Value& resources = Sub(container, "resources");
  resources.MakeObject();
  for (const char* part : {"limits", "requests"}) {
    if (resources.Contains(part)) RETURN_IF_ERROR(Canonical(kind, Sub(resources, part)));
  }
  for (const auto& [name, limit] : resources["limits"].AsObject()) {
    if (!resources["requests"].Contains(name)) {
      const json::Value copy = limit;
      Sub(resources, "requests").Set(name, copy);
    }
  }
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  Default(container, "imagePullPolicy", PullPolicy(container["image"].AsString()));
  for (const char* probe : {"readinessProbe", "livenessProbe", "startupProbe"}) {
    if (container[probe].IsObject()) DefaultProbe(Sub(container, probe));
  }
  if (container["ports"].IsArray()) {
    for (json::Value& port : Sub(container, "ports").MakeArray()) Default(port, "protocol", "TCP");
  }
  if (container["env"].IsArray()) {
    for (json::Value& variable : Sub(container, "env").MakeArray()) {
      if (variable["valueFrom"]["fieldRef"].IsObject()) {
        Default(Sub(Sub(variable, "valueFrom"), "fieldRef"), "apiVersion", "v1");
      }
    }
  }
  return {};
}

void DefaultVolume(json::Value& volume) {
  if (volume.AsObject().size() == 1) volume.Set("emptyDir", json::Object{});
  for (const char* source : {"configMap", "secret"}) {
    if (volume[source].IsObject()) Default(Sub(volume, source), "defaultMode", 420);
  }
}

Answer<void> DefaultPodSpec(const Kind& kind, json::Value& spec) {
  Default(spec, "restartPolicy", "Always");
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "schedulerName", "default-scheduler");
  Default(spec, "securityContext", json::Object{});
  for (const char* list : {"initContainers", "containers"}) {
    if (!spec[list].IsArray()) continue;
    for (json::Value& container : Sub(spec, list).MakeArray())
      RETURN_IF_ERROR(DefaultContainer(kind, container));
  }
  if (spec["volumes"].IsArray()) {
    for (json::Value& volume : Sub(spec, "volumes").MakeArray()) DefaultVolume(volume);
  }
  return {};
}

Answer<void> DefaultPod(const Kind& kind, json::Value& pod) {
  json::Value& spec = Sub(pod, "spec");
  RETURN_IF_ERROR(DefaultPodSpec(kind, spec));
  // What admission of a kube-apiserver adds to a Pod, but not to a template.
  Default(spec, "serviceAccountName", "default");
  Default(spec, "serviceAccount", spec["serviceAccountName"]);
  Default(spec, "enableServiceLinks", true);
  Default(spec, "priority", 0);
  Default(spec, "preemptionPolicy", "PreemptLowerPriority");
  return {};
}

Answer<void> DefaultStatefulSet(const Kind& kind, json::Value& set) {
  json::Value& spec = Sub(set, "spec");
  Default(spec, "replicas", 1);
  Default(spec, "podManagementPolicy", "OrderedReady");
  Default(spec, "revisionHistoryLimit", 10);
  Default(spec, "updateStrategy", json::Object{{"type", "RollingUpdate"}});
  json::Value& strategy = Sub(spec, "updateStrategy");
  if (strategy["type"].AsString() == "RollingUpdate") {
    Default(strategy, "rollingUpdate", json::Object{{"partition", 0}});
  }
  if (spec["volumeClaimTemplates"].IsArray()) {
    for (json::Value& claim : Sub(spec, "volumeClaimTemplates").MakeArray()) {
      Default(Sub(claim, "spec"), "volumeMode", "Filesystem");
    }
  }
  if (!spec["template"]["spec"].IsObject()) return {};
  return DefaultPodSpec(kind, Sub(Sub(spec, "template"), "spec"));
}

void DefaultService(json::Value& service) {
  json::Value& spec = Sub(service, "spec");
  Default(spec, "type", "ClusterIP");
  Default(spec, "sessionAffinity", "None");
  Default(spec, "internalTrafficPolicy", "Cluster");
  // The engine hands out no addresses: workloads are reached by their doors (docs/engine.md).
  Default(spec, "clusterIP", "None");
  Default(spec, "clusterIPs", json::Array{spec["clusterIP"]});
  if (!spec["ports"].IsArray()) return;
  for (json::Value& port : Sub(spec, "ports").MakeArray()) {
    Default(port, "protocol", "TCP");
    Default(port, "targetPort", port["port"]);
  }
}

void DefaultSecret(json::Value& secret) {
  Default(secret, "type", "Opaque");
  const json::Value texts = secret["stringData"];
  for (const auto& [key, value] : texts.AsObject()) Sub(secret, "data").Set(key, Base64(value.AsString()));
  secret.Erase("stringData");
}

void DefaultNamespace(json::Value& space) {
  Sub(Meta(space), "labels").Set("kubernetes.io/metadata.name", NameOf(space));
  Default(Sub(space, "spec"), "finalizers", json::Array{json::Value("kubernetes")});
}

Answer<void> DefaultClaim(const Kind& kind, json::Value& claim) {
  json::Value& spec = Sub(claim, "spec");
  Default(spec, "volumeMode", "Filesystem");
  if (spec["resources"]["requests"].IsObject())
    return Canonical(kind, Sub(Sub(spec, "resources"), "requests"));
  return {};
}

Answer<void> DefaultLimitRange(const Kind& kind, json::Value& range) {
  if (!range["spec"]["limits"].IsArray()) return {};
  for (json::Value& item : Sub(Sub(range, "spec"), "limits").MakeArray()) {
    for (const char* part : {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
      if (item.Contains(part)) RETURN_IF_ERROR(Canonical(kind, Sub(item, part)));
    }
    if (item["type"].AsString() != "Container") continue;
    // core/v1: what has a maximum and no default gets it; a request defaults to the limit, else to the
    // minimum.
    const json::Value max = item["max"], min = item["min"];
    for (const auto& [name, value] : max.AsObject()) Default(Sub(item, "default"), name, value);
    const json::Value limits = item["default"];
    for (const auto& [name, value] : limits.AsObject()) Default(Sub(item, "defaultRequest"), name, value);
    for (const auto& [name, value] : min.AsObject()) Default(Sub(item, "defaultRequest"), name, value);
  }
  return {};
}

}  // namespace

Answer<void> ApplyDefaults(const Kind& kind, json::Value& object) {
  if (kind.kind == "Pod") return DefaultPod(kind, object);
  if (kind.kind == "StatefulSet") return DefaultStatefulSet(kind, object);
  if (kind.kind == "PersistentVolumeClaim") return DefaultClaim(kind, object);
  if (kind.kind == "LimitRange") return DefaultLimitRange(kind, object);
  if (kind.kind == "ResourceQuota" && object["spec"]["hard"].IsObject()) {
    return Canonical(kind, Sub(Sub(object, "spec"), "hard"));
  }
  if (kind.kind == "Service") DefaultService(object);
  if (kind.kind == "Secret") DefaultSecret(object);
  if (kind.kind == "Namespace") DefaultNamespace(object);
  return {};
}

void SetInitialStatus(const Kind& kind, json::Value& object) {
  if (!kind.has_status) return;
  json::Value status = json::Object{};
  if (kind.kind == "Pod") {
    status = json::Object{{"phase", "Pending"}, {"qosClass", QosClass(object["spec"])}};
  } else if (kind.kind == "Namespace") {
    status = json::Object{{"phase", "Active"}};
  } else if (kind.kind == "PersistentVolumeClaim") {
    status = json::Object{{"phase", "Pending"}};
  } else if (kind.kind == "StatefulSet") {
    status = json::Object{{"replicas", 0}, {"availableReplicas", 0}};
  } else if (kind.kind == "Service") {
    status = json::Object{{"loadBalancer", json::Object{}}};
  } else if (kind.kind == "Node" && object["status"].IsObject()) {
    status = object["status"];
  }
  object.Set("status", std::move(status));
}

std::string QosClass(const json::Value& pod_spec) {
  bool any = false, guaranteed = true;
  for (const char* list : {"initContainers", "containers"}) {
    for (const json::Value& container : pod_spec[list].AsArray()) {
      for (const char* name : {"cpu", "memory"}) {
        const json::Value& limit = container["resources"]["limits"][name];
        const json::Value& request = container["resources"]["requests"][name];
        any = any || !limit.IsNull() || !request.IsNull();
        guaranteed = guaranteed && limit.IsString() && limit == request;
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace cubeplane::engine
