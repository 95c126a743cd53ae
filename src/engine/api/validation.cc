#include "engine/api/validation.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "engine/cluster.h"
#include "engine/selectors.h"
#include "engine/validation_words.h"

namespace cubeplane::engine {
namespace {

constexpr size_t kMaxConfigBytes = 1 << 20;

void AddIf(FieldErrors& errors, const std::string& path, const json::Value& value,
           const std::string& problem) {
  if (!problem.empty()) errors.push_back(InvalidValue(path, value, problem));
}

void CheckMap(FieldErrors& errors, const json::Value& map, const std::string& path, bool label_values) {
  if (!map.IsNull() && !map.IsObject()) errors.push_back(InvalidValue(path, map, "must be an object"));
  for (const auto& [key, value] : map.AsObject()) {
    AddIf(errors, path, key, QualifiedNameProblem(key));
    if (!value.IsString()) {
      errors.push_back(InvalidValue(path + "[" + key + "]", value, "must be a string"));
    } else if (label_values) {
      AddIf(errors, path, value, LabelValueProblem(value.AsString()));
    }
  }
}

void CheckMetadata(FieldErrors& errors, const Kind& kind, const json::Value& object) {
  const json::Value& name = object["metadata"]["name"];
  if (name.AsString().empty()) {
    errors.push_back(Required("metadata.name", "name or generateName is required"));
  } else if (kind.kind == "Namespace" || kind.kind == "StatefulSet") {
    AddIf(errors, "metadata.name", name, DnsLabelProblem(name.AsString()));
  } else if (kind.kind == "Service") {
    AddIf(errors, "metadata.name", name, DnsLabel1035Problem(name.AsString()));
  } else {
    AddIf(errors, "metadata.name", name, DnsSubdomainProblem(name.AsString()));
  }
  CheckMap(errors, object["metadata"]["labels"], "metadata.labels", true);
  CheckMap(errors, object["metadata"]["annotations"], "metadata.annotations", false);
  size_t bytes = 0;
  for (const auto& [key, value] : object["metadata"]["annotations"].AsObject())
    bytes += key.size() + value.AsString().size();
  if (bytes > 256 << 10)
    errors.push_back(
        {"metadata.annotations", "FieldValueTooLong", "Too long: may not be more than 262144 bytes"});
  size_t at = 0;
  for (const json::Value& owner : object["metadata"]["ownerReferences"].AsArray()) {
    const std::string path = "metadata.ownerReferences[" + std::to_string(at++) + "]";
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (owner[field].AsString().empty())
        errors.push_back(Required(path + "." + field, "must not be empty"));
    }
  }
}

void CheckData(FieldErrors& errors, const json::Value& object, bool secret) {
  size_t bytes = 0;
  for (const char* part : {"data", "binaryData"}) {
    for (const auto& [key, value] : object[part].AsObject()) {
      const std::string path = std::string(part) + "[" + key + "]";
      AddIf(errors, path, key, ConfigKeyProblem(key));
      const bool encoded = secret || part == std::string_view("binaryData");
      const auto decoded = encoded ? FromBase64(value.AsString()) : value.AsString();
      if (!value.IsString() || !decoded)
        errors.push_back(InvalidValue(path, encoded ? json::Value("") : value,
                                      encoded ? "must be base64" : "must be a string"));
      bytes += decoded ? decoded->size() : 0;
    }
  }
  if (bytes > kMaxConfigBytes)
    errors.push_back(
        {secret ? "data" : "", "FieldValueTooLong", "Too long: must have at most 1048576 bytes"});
}

void CheckQuantities(FieldErrors& errors, const json::Value& list, const std::string& path) {
  for (const auto& [name, value] : list.AsObject()) {
    const auto quantity = Quantity::Parse(value.AsString());
    if (quantity && quantity->IsNegative())
      errors.push_back(InvalidValue(path + "[" + name + "]", value, "must be greater than or equal to 0"));
  }
}

void CheckSet(FieldErrors& errors, const json::Value& set) {
  const json::Value& spec = set["spec"];
  const json::Value& selector = spec["selector"];
  if (!selector.IsObject()) {
    errors.push_back(Required("spec.selector"));
  } else if (selector["matchLabels"].AsObject().empty() && selector["matchExpressions"].AsArray().empty()) {
    errors.push_back(InvalidValue("spec.selector", selector, "empty selector is invalid for statefulset"));
  } else if (!LabelSelector::FromObject(selector).Matches(spec["template"])) {
    errors.push_back(InvalidValue("spec.template.metadata.labels", spec["template"]["metadata"]["labels"],
                                  "`selector` does not match template `labels`"));
  }
  const json::Value& replicas = spec["replicas"];
  if (!replicas.IsInt() || replicas.AsInt() < 0)
    errors.push_back(InvalidValue("spec.replicas", replicas, "must be greater than or equal to 0"));
  const std::string& policy = spec["template"]["spec"]["restartPolicy"].AsString();
  if (policy != "Always")
    errors.push_back(NotSupported("spec.template.spec.restartPolicy", policy, {"Always"}));
  const std::string& order = spec["podManagementPolicy"].AsString();
  if (order != "OrderedReady" && order != "Parallel")
    errors.push_back(NotSupported("spec.podManagementPolicy", order, {"OrderedReady", "Parallel"}));
  const std::string& update = spec["updateStrategy"]["type"].AsString();
  if (update != "RollingUpdate" && update != "OnDelete")
    errors.push_back(NotSupported("spec.updateStrategy.type", update, {"OnDelete", "RollingUpdate"}));
  const FieldErrors pod = ValidatePodSpec(spec["template"]["spec"], "spec.template.spec");
  errors.insert(errors.end(), pod.begin(), pod.end());
}

void CheckService(FieldErrors& errors, const json::Value& service) {
  const json::Value& spec = service["spec"];
  const std::string& type = spec["type"].AsString();
  if (type != "ClusterIP") {
    errors.push_back(NotSupported("spec.type", type, {"ClusterIP"}));
  }
  if (spec["clusterIP"].AsString() != "None") {
    errors.push_back(InvalidValue("spec.clusterIP", spec["clusterIP"],
                                  "the engine hands out no addresses: leave it out or say None"));
  }
  size_t at = 0;
  for (const json::Value& port : spec["ports"].AsArray()) {
    const std::string path = "spec.ports[" + std::to_string(at++) + "]";
    const int64_t number = port["port"].AsInt();
    if (number < 1 || number > 65535)
      errors.push_back(InvalidValue(path + ".port", port["port"], "must be between 1 and 65535, inclusive"));
    if (spec["ports"].AsArray().size() > 1 && port["name"].AsString().empty())
      errors.push_back(Required(path + ".name"));
  }
}

void CheckClaim(FieldErrors& errors, const json::Value& claim) {
  if (claim["spec"]["accessModes"].AsArray().empty())
    errors.push_back(Required("spec.accessModes", "at least 1 access mode is required"));
  if (!claim["spec"]["resources"]["requests"].Contains("storage"))
    errors.push_back(Required("spec.resources[storage]"));
  CheckQuantities(errors, claim["spec"]["resources"]["requests"], "spec.resources.requests");
}

// Names a folder below DATA/projects, so it is held to what cannot leave it.
void CheckNamespace(FieldErrors& errors, const json::Value& space) {
  const std::string& id = AnnotationOf(space, "cubeplane.io/data-id");
  if (!id.empty()) AddIf(errors, "metadata.annotations[cubeplane.io/data-id]", id, DnsLabelProblem(id));
}

}  // namespace

FieldErrors Validate(const Kind& kind, const json::Value& object) {
  FieldErrors errors;
  CheckMetadata(errors, kind, object);
  if (kind.kind == "Pod") {
    const FieldErrors pod = ValidatePodSpec(object["spec"], "spec");
    errors.insert(errors.end(), pod.begin(), pod.end());
  }
  if (kind.kind == "StatefulSet") CheckSet(errors, object);
  if (kind.kind == "Service") CheckService(errors, object);
  if (kind.kind == "PersistentVolumeClaim") CheckClaim(errors, object);
  if (kind.kind == "Namespace") CheckNamespace(errors, object);
  if (kind.kind == "ConfigMap") CheckData(errors, object, false);
  if (kind.kind == "Secret") CheckData(errors, object, true);
  if (kind.kind == "ResourceQuota") CheckQuantities(errors, object["spec"]["hard"], "spec.hard");
  return errors;
}

FieldErrors ValidateUpdate(const Kind& kind, const json::Value& object, const json::Value& before) {
  FieldErrors errors;
  if (kind.kind == "Pod") {
    json::Value spec = object["spec"], old = before["spec"];
    // Kubernetes also allows images and deadlines to change; the engine does not restart a pod for it, so it
    // refuses.
    for (json::Value* part : {&spec, &old}) part->Erase("tolerations");
    // Binding is the one change of nodeName.
    if (old["nodeName"].IsNull()) spec.Erase("nodeName");
    if (spec != old)
      errors.push_back(Forbidden("spec",
                                 "pod updates may not change fields other than `spec.tolerations` (only "
                                 "additions to existing tolerations) on the embedded engine"));
  }
  if (kind.kind == "StatefulSet") {
    json::Value spec = object["spec"], old = before["spec"];
    for (json::Value* part : {&spec, &old}) {
      for (const char* free : {"replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
                               "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"})
        part->Erase(free);
    }
    if (spec != old) {
      errors.push_back(
          Forbidden("spec",
                    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
                    "'minReadySeconds' are forbidden"));
    }
  }
  if (kind.kind == "PersistentVolumeClaim" && object["spec"] != before["spec"]) {
    errors.push_back(Forbidden("spec", "spec is immutable after creation on the embedded engine"));
  }
  if ((kind.kind == "Secret" || kind.kind == "ConfigMap") && before["immutable"].AsBool()) {
    for (const char* part : {"data", "binaryData"}) {
      if (object[part] != before[part])
        errors.push_back(Forbidden(part, "field is immutable when `immutable` is set"));
    }
    if (!object["immutable"].AsBool())
      errors.push_back(Forbidden("immutable", "field is immutable when `immutable` is set"));
  }
  if (kind.kind == "Secret" && object["type"] != before["type"]) {
    errors.push_back(InvalidValue("type", object["type"], "field is immutable"));
  }
  if (kind.kind == "Namespace" && !AnnotationOf(before, "cubeplane.io/data-folder").empty() &&
      AnnotationOf(object, "cubeplane.io/data-id") != AnnotationOf(before, "cubeplane.io/data-id")) {
    errors.push_back(InvalidValue("metadata.annotations[cubeplane.io/data-id]",
                                  AnnotationOf(object, "cubeplane.io/data-id"), "field is immutable"));
  }
  return errors;
}

}  // namespace cubeplane::engine
