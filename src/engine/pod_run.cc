#include "engine/pod_run.h"

#include <algorithm>
#include <charconv>

#include "base/quantity.h"
#include "base/strings.h"

namespace cubeplane::engine {
namespace {

constexpr const char* kCodeKey = "code.tar.gz";

Result<Quantity> Amount(const json::Value& list, const char* name) {
  if (!list[name].IsString()) return Quantity();
  return Quantity::Parse(list[name].AsString());
}

Result<std::string> KeyOfSecret(const Store& store, const std::string& space, const std::string& name,
                                const std::string& key) {
  const ObjectPtr secret = store.Get({"secrets", space, name});
  if (!secret) return Fail(Code::kNotFound, "secret \"" + name + "\" not found");
  const json::Value& value = (*secret)["data"][key];
  const auto bytes = FromBase64(value.AsString());
  if (!value.IsString() || !bytes) {
    return Fail(Code::kNotFound, "couldn't find key " + key + " in Secret " + space + "/" + name);
  }
  return *bytes;
}

Result<std::string> KeyOfConfigMap(const Store& store, const std::string& space, const std::string& name,
                                   const std::string& key) {
  const ObjectPtr map = store.Get({"configmaps", space, name});
  if (!map) return Fail(Code::kNotFound, "configmap \"" + name + "\" not found");
  if (!(*map)["data"][key].IsString()) {
    return Fail(Code::kNotFound, "couldn't find key " + key + " in ConfigMap " + space + "/" + name);
  }
  return (*map)["data"][key].AsString();
}

// "metadata.labels['a/b']" and plain paths of the downward API.
Result<std::string> FieldOf(const json::Value& pod, const std::string& path) {
  if (const size_t open = path.find("['"); open != std::string::npos && path.ends_with("']")) {
    const std::string key = path.substr(open + 2, path.size() - open - 4);
    return pod.At(path.substr(0, open))[key].AsString();
  }
  constexpr std::string_view kKnown[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                         "spec.nodeName", "spec.serviceAccountName"};
  if (std::ranges::find(kKnown, path) == std::end(kKnown)) {
    return Fail(Code::kInvalid, "field " + path + " is not supported by the embedded engine");
  }
  return pod.At(path).AsString();
}

Result<std::string> ValueOf(const Cluster& cluster, const json::Value& pod, const json::Value& variable,
                            bool& absent) {
  const json::Value& from = variable["valueFrom"];
  if (!from.IsObject()) return variable["value"].AsString();
  if (from["fieldRef"].IsObject()) return FieldOf(pod, from["fieldRef"]["fieldPath"].AsString());
  const bool secret = from["secretKeyRef"].IsObject();
  const json::Value& reference = secret ? from["secretKeyRef"] : from["configMapKeyRef"];
  const auto read = secret ? KeyOfSecret : KeyOfConfigMap;
  auto value =
      read(cluster.store, NamespaceOf(pod), reference["name"].AsString(), reference["key"].AsString());
  absent = !value && reference["optional"].AsBool();
  return absent ? Result<std::string>("") : value;
}

using Env = std::vector<std::pair<std::string, std::string>>;

// $(NAME) of what was defined before; $$ is a dollar, an unknown name stays as it is.
std::string Expand(const std::string& text, const Env& env) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += '$';
      ++i;
    } else if (const size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
               end != std::string::npos) {
      const std::string name = text.substr(i + 2, end - i - 2);
      const auto found = std::ranges::find_if(env, [&](const auto& entry) { return entry.first == name; });
      out += found == env.end() ? text.substr(i, end - i + 1) : found->second;
      i = end;
    } else {
      out += '$';
    }
  }
  return out;
}

Result<Env> BuildEnv(const Cluster& cluster, const json::Value& pod, const json::Value& container) {
  Env env;
  for (const json::Value& variable : container["env"].AsArray()) {
    bool absent = false;
    ASSIGN_OR_RETURN(std::string value, ValueOf(cluster, pod, variable, absent));
    if (!variable["valueFrom"].IsObject()) value = Expand(value, env);
    if (!absent) env.emplace_back(variable["name"].AsString(), std::move(value));
  }
  return env;
}

const json::Value& VolumeOf(const json::Value& pod, const std::string& name) {
  static const json::Value none;
  for (const json::Value& volume : pod["spec"]["volumes"].AsArray()) {
    if (volume["name"].AsString() == name) return volume;
  }
  return none;
}

Result<void> AddEmptyDir(const json::Value& source, Mount mount, PodRun& run) {
  ASSIGN_OR_RETURN(const Quantity size, Amount(source, "sizeLimit"));
  if (source["medium"].AsString() == "Memory" && mount.path == "/dev/shm") {
    if (!size.IsZero()) run.shm_bytes = size.Value();
    return {};
  }
  mount.kind = Mount::Kind::kScratch;
  mount.size_bytes = size.Value();
  run.mounts.push_back(std::move(mount));
  return {};
}

Result<void> AddCode(const Cluster& cluster, const json::Value& pod, const std::string& name, Mount mount,
                     PodRun& run) {
  const ObjectPtr map = cluster.store.Get({"configmaps", NamespaceOf(pod), name});
  if (!map) return Fail(Code::kNotFound, "configmap \"" + name + "\" not found");
  const auto archive = FromBase64((*map)["binaryData"][kCodeKey].AsString());
  if (!archive || archive->empty()) {
    return Fail(Code::kInvalid, "configmap \"" + name + "\" has no binaryData key " + kCodeKey +
                                    ": the embedded engine mounts archives only");
  }
  mount.kind = Mount::Kind::kCode;
  mount.archive = *archive;
  run.mounts.push_back(std::move(mount));
  return {};
}

Result<void> AddMount(const Cluster& cluster, const json::Value& pod, const json::Value& entry, PodRun& run) {
  const json::Value& volume = VolumeOf(pod, entry["name"].AsString());
  Mount mount;
  mount.path = entry["mountPath"].AsString();
  if (volume["emptyDir"].IsObject()) return AddEmptyDir(volume["emptyDir"], std::move(mount), run);
  if (volume["configMap"].IsObject())
    return AddCode(cluster, pod, volume["configMap"]["name"].AsString(), std::move(mount), run);
  const std::string& claim = volume["persistentVolumeClaim"]["claimName"].AsString();
  if (!cluster.store.Get({"persistentvolumeclaims", NamespaceOf(pod), claim})) {
    return Fail(Code::kNotFound, "persistentvolumeclaim \"" + claim + "\" not found");
  }
  mount.kind = Mount::Kind::kData;
  mount.sub_path = entry["subPath"].AsString();
  run.mounts.push_back(std::move(mount));
  return {};
}

uint16_t PortOf(const json::Value& container, const json::Value& port) {
  if (port.IsInt()) return static_cast<uint16_t>(port.AsInt());
  for (const json::Value& named : container["ports"].AsArray()) {
    if (named["name"] == port) return static_cast<uint16_t>(named["containerPort"].AsInt());
  }
  return 0;
}

Result<void> AddDoor(const Cluster& cluster, const json::Value& pod, PodRun& run) {
  const std::string& text = AnnotationOf(pod, kDoorPort);
  if (text.empty()) return {};
  Door door;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), door.port);
  if (error != std::errc() || end != text.data() + text.size() || door.port == 0) {
    return Fail(Code::kInvalid,
                std::string("annotation ") + kDoorPort + ": found \"" + text + "\", allowed is 1 to 65535");
  }
  // Fails closed: a door without a secret is no door.
  ASSIGN_OR_RETURN(door.secret,
                   KeyOfSecret(cluster.store, NamespaceOf(pod), AnnotationOf(pod, kDoorSecret), "secret"));
  if (door.secret.empty()) return Fail(Code::kInvalid, "the door's secret is empty");
  run.door = std::move(door);
  return {};
}

void AddReadiness(const json::Value& container, PodRun& run) {
  const json::Value& probe = container["readinessProbe"];
  if (!probe["httpGet"].IsObject()) return;
  HttpProbe readiness;
  readiness.path = probe["httpGet"]["path"].AsString();
  readiness.port = PortOf(container, probe["httpGet"]["port"]);
  readiness.period = std::chrono::seconds(probe["periodSeconds"].AsInt(10));
  readiness.timeout = std::chrono::seconds(probe["timeoutSeconds"].AsInt(1));
  readiness.failure_threshold = static_cast<int>(probe["failureThreshold"].AsInt(3));
  run.readiness = std::move(readiness);
}

}  // namespace

Result<PodRun> BuildPodRun(const Cluster& cluster, const json::Value& pod, const Tenant& tenant,
                           std::vector<std::string> devices) {
  const json::Value& container = pod["spec"].At("containers.0");
  PodRun run;
  run.uid = UidOf(pod);
  run.name = NameOf(pod);
  run.namespace_name = NamespaceOf(pod);
  run.tenant = tenant;
  run.image = container["image"].AsString();
  run.devices = std::move(devices);
  ASSIGN_OR_RETURN(run.env, BuildEnv(cluster, pod, container));
  for (const char* list : {"command", "args"}) {
    for (const json::Value& word : container[list].AsArray())
      run.command.push_back(Expand(word.AsString(), run.env));
  }
  if (!container["workingDir"].AsString().empty()) run.working_dir = container["workingDir"].AsString();
  for (const json::Value& mount : container["volumeMounts"].AsArray())
    RETURN_IF_ERROR(AddMount(cluster, pod, mount, run));
  ASSIGN_OR_RETURN(const Quantity cpu, Amount(container["resources"]["limits"], "cpu"));
  ASSIGN_OR_RETURN(const Quantity memory, Amount(container["resources"]["limits"], "memory"));
  run.cpu_milli = cpu.MilliValue();
  run.memory_bytes = memory.Value();
  RETURN_IF_ERROR(AddDoor(cluster, pod, run));
  AddReadiness(container, run);
  run.grace = std::chrono::seconds(pod["spec"]["terminationGracePeriodSeconds"].AsInt(30));
  run.restart = pod["spec"]["restartPolicy"].AsString() == "Always";
  return run;
}

}  // namespace cubeplane::engine
