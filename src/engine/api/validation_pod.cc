#include <algorithm>
#include <set>

#include "base/quantity.h"
#include "engine/api/validation.h"
#include "engine/validation_words.h"

namespace cubeplane::engine {
namespace {

constexpr std::string_view kCodeKey = "code.tar.gz";

void CheckResources(FieldErrors& errors, const json::Value& resources, const std::string& path) {
  for (const char* part : {"limits", "requests"}) {
    for (const auto& [name, value] : resources[part].AsObject()) {
      const std::string place = path + "." + part + "[" + name + "]";
      const auto quantity = Quantity::Parse(value.AsString());
      if (!quantity || quantity->IsNegative()) {
        errors.push_back(InvalidValue(place, value, "must be greater than or equal to 0"));
        continue;
      }
      const json::Value& limit = resources["limits"][name];
      const auto max = Quantity::Parse(limit.AsString());
      if (part == std::string_view("requests") && limit.IsString() && max && *quantity > *max) {
        errors.push_back(
            InvalidValue(path + ".requests", value,
                         "must be less than or equal to " + name + " limit of " + limit.AsString()));
      }
    }
  }
}

void CheckEnv(FieldErrors& errors, const json::Value& container, const std::string& path) {
  size_t at = 0;
  for (const json::Value& variable : container["env"].AsArray()) {
    const std::string place = path + ".env[" + std::to_string(at++) + "]";
    const std::string& name = variable["name"].AsString();
    if (name.empty()) {
      errors.push_back(Required(place + ".name"));
    } else if (const std::string problem = EnvNameProblem(name); !problem.empty()) {
      errors.push_back(InvalidValue(place + ".name", name, problem));
    }
    const json::Value& from = variable["valueFrom"];
    if (from.IsObject() && !from.Contains("secretKeyRef") && !from.Contains("configMapKeyRef") &&
        !from.Contains("fieldRef")) {
      errors.push_back(Forbidden(place + ".valueFrom",
                                 "the embedded engine knows secretKeyRef, configMapKeyRef and fieldRef"));
    }
    if (!variable["value"].IsNull() && !variable["value"].IsString())
      errors.push_back(InvalidValue(place + ".value", variable["value"], "must be a string"));
  }
  if (!container["envFrom"].AsArray().empty())
    errors.push_back(Forbidden(path + ".envFrom", "not supported by the embedded engine: use env"));
}

void CheckMounts(FieldErrors& errors, const json::Value& spec, const json::Value& container,
                 const std::string& path) {
  size_t at = 0;
  std::set<std::string> paths;
  for (const json::Value& mount : container["volumeMounts"].AsArray()) {
    const std::string place = path + ".volumeMounts[" + std::to_string(at++) + "]";
    const std::string& name = mount["name"].AsString();
    const auto& volumes = spec["volumes"].AsArray();
    if (name.empty()) errors.push_back(Required(place + ".name"));
    if (std::ranges::none_of(volumes, [&](const json::Value& v) { return v["name"].AsString() == name; })) {
      errors.push_back({place + ".name", "FieldValueNotFound", "Not found: \"" + name + "\""});
    }
    const std::string& target = mount["mountPath"].AsString();
    if (target.empty()) errors.push_back(Required(place + ".mountPath"));
    if (!paths.insert(target).second)
      errors.push_back(InvalidValue(place + ".mountPath", target, "must be unique"));
    const std::string& sub = mount["subPath"].AsString();
    if (sub.starts_with('/'))
      errors.push_back(InvalidValue(place + ".subPath", sub, "must be a relative path"));
    if (("/" + sub + "/").find("/../") != std::string::npos)
      errors.push_back(InvalidValue(place + ".subPath", sub, "must not contain '..'"));
  }
}

void CheckProbes(FieldErrors& errors, const json::Value& container, const std::string& path) {
  for (const char* probe : {"livenessProbe", "startupProbe"}) {
    if (container.Contains(probe))
      errors.push_back(Forbidden(path + "." + probe,
                                 "not supported by the embedded engine: it has readinessProbe with httpGet"));
  }
  const json::Value& ready = container["readinessProbe"];
  if (ready.IsNull()) return;
  if (!ready["httpGet"].IsObject()) {
    errors.push_back(Forbidden(path + ".readinessProbe", "the embedded engine probes by httpGet only"));
    return;
  }
  const json::Value& port = ready["httpGet"]["port"];
  const auto& ports = container["ports"].AsArray();
  const bool named =
      port.IsString() && std::ranges::any_of(ports, [&](const json::Value& p) { return p["name"] == port; });
  if (!named && (port.AsInt() < 1 || port.AsInt() > 65535)) {
    errors.push_back(
        InvalidValue(path + ".readinessProbe.httpGet.port", port, "must be between 1 and 65535, inclusive"));
  }
}

void CheckContainer(FieldErrors& errors, const json::Value& spec, const json::Value& container,
                    const std::string& path) {
  const std::string& name = container["name"].AsString();
  if (name.empty()) {
    errors.push_back(Required(path + ".name"));
  } else if (const std::string problem = DnsLabelProblem(name); !problem.empty()) {
    errors.push_back(InvalidValue(path + ".name", name, problem));
  }
  if (container["image"].AsString().empty()) errors.push_back(Required(path + ".image"));
  for (const char* list : {"command", "args"}) {
    for (const json::Value& word : container[list].AsArray()) {
      if (!word.IsString())
        errors.push_back(InvalidValue(path + "." + list, word, "must be a list of strings"));
    }
  }
  if (container["lifecycle"].IsObject())
    errors.push_back(Forbidden(path + ".lifecycle", "not supported by the embedded engine"));
  CheckResources(errors, container["resources"], path + ".resources");
  CheckEnv(errors, container, path);
  CheckMounts(errors, spec, container, path);
  CheckProbes(errors, container, path);
}

void CheckVolumes(FieldErrors& errors, const json::Value& spec, const std::string& path) {
  size_t at = 0;
  std::set<std::string> names;
  for (const json::Value& volume : spec["volumes"].AsArray()) {
    const std::string place = path + ".volumes[" + std::to_string(at++) + "]";
    const std::string& name = volume["name"].AsString();
    if (name.empty()) {
      errors.push_back(Required(place + ".name"));
    } else if (const std::string problem = DnsLabelProblem(name); !problem.empty()) {
      errors.push_back(InvalidValue(place + ".name", name, problem));
    }
    if (!names.insert(name).second)
      errors.push_back({place + ".name", "FieldValueDuplicate", "Duplicate value: \"" + name + "\""});
    const bool known = volume.Contains("emptyDir") || volume.Contains("persistentVolumeClaim") ||
                       volume.Contains("configMap");
    if (!known) {
      errors.push_back(Forbidden(
          place,
          "the embedded engine mounts emptyDir, persistentVolumeClaim and configMap (with binaryData key " +
              std::string(kCodeKey) + ")"));
    }
    if (volume.Contains("persistentVolumeClaim") &&
        volume["persistentVolumeClaim"]["claimName"].AsString().empty()) {
      errors.push_back(Required(place + ".persistentVolumeClaim.claimName"));
    }
    if (volume.Contains("configMap") && volume["configMap"]["name"].AsString().empty()) {
      errors.push_back(Required(place + ".configMap.name"));
    }
  }
}

void CheckHostAccess(FieldErrors& errors, const json::Value& spec, const std::string& path) {
  for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (spec[field].AsBool())
      errors.push_back(
          Forbidden(path + "." + field, "a pod of the embedded engine always has namespaces of its own"));
  }
}

}  // namespace

FieldErrors ValidatePodSpec(const json::Value& spec, const std::string& path) {
  FieldErrors errors;
  const auto& containers = spec["containers"].AsArray();
  if (containers.empty()) errors.push_back(Required(path + ".containers"));
  if (containers.size() > 1) {
    errors.push_back(Forbidden(path + ".containers", "the embedded engine runs one container a pod; found " +
                                                         std::to_string(containers.size())));
  }
  if (!spec["initContainers"].AsArray().empty()) {
    errors.push_back(Forbidden(path + ".initContainers", "not supported by the embedded engine"));
  }
  for (size_t i = 0; i < containers.size(); ++i) {
    CheckContainer(errors, spec, containers[i], path + ".containers[" + std::to_string(i) + "]");
  }
  CheckVolumes(errors, spec, path);
  CheckHostAccess(errors, spec, path);
  const std::string& policy = spec["restartPolicy"].AsString();
  if (policy == "OnFailure") {
    errors.push_back(Forbidden(path + ".restartPolicy", "the embedded engine knows Always and Never"));
  } else if (policy != "Always" && policy != "Never") {
    errors.push_back(NotSupported(path + ".restartPolicy", policy, {"Always", "Never"}));
  }
  if (spec.Contains("activeDeadlineSeconds"))
    errors.push_back(Forbidden(path + ".activeDeadlineSeconds", "not supported by the embedded engine"));
  const json::Value& grace = spec["terminationGracePeriodSeconds"];
  if (!grace.IsInt() || grace.AsInt() < 0 || grace.AsInt() > 86'400) {
    errors.push_back(
        InvalidValue(path + ".terminationGracePeriodSeconds", grace, "must be between 0 and 86400"));
  }
  return errors;
}

}  // namespace cubeplane::engine
