#include "engine/node/spec.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace cubeplane::engine::node {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::array kPhases = {"starting", "running", "exited", "lost"};
constexpr std::array kMountKinds = {"data", "scratch", "code"};

Value Nanos(Duration duration) { return static_cast<int64_t>(duration.count()); }
Duration NanosFrom(const Value& value) { return Duration(value.AsInt()); }

Value TimeValue(const std::optional<Time>& time) {
  return time ? Value(static_cast<int64_t>(time->time_since_epoch().count())) : Value();
}
std::optional<Time> TimeFrom(const Value& value) {
  return value.IsInt() ? std::optional(Time(Duration(value.AsInt()))) : std::nullopt;
}

Value MountJson(const Mount& mount) {
  return Object{{"kind", kMountKinds[static_cast<size_t>(mount.kind)]},
                {"path", mount.path},
                {"subPath", mount.sub_path},
                {"archive", Base64(mount.archive)},
                {"sizeBytes", mount.size_bytes}};
}

Result<Mount> MountFromJson(const Value& value) {
  Mount mount;
  const auto kind = std::find(kMountKinds.begin(), kMountKinds.end(), value["kind"].AsString());
  if (kind == kMountKinds.end())
    return Fail(Code::kInvalid, "unknown kind of mount '" + value["kind"].AsString() + "'");
  mount.kind = static_cast<Mount::Kind>(kind - kMountKinds.begin());
  mount.path = value["path"].AsString();
  mount.sub_path = value["subPath"].AsString();
  mount.size_bytes = value["sizeBytes"].AsInt();
  auto archive = FromBase64(value["archive"].AsString());
  if (!archive) return Fail(Code::kInvalid, "the archive of mount " + mount.path + " is not base64");
  mount.archive = std::move(*archive);
  return mount;
}

Array Strings(const std::vector<std::string>& texts) { return Array(texts.begin(), texts.end()); }
std::vector<std::string> StringsFrom(const Value& value) {
  std::vector<std::string> texts;
  for (const Value& text : value.AsArray()) texts.push_back(text.AsString());
  return texts;
}

// Folders that the sandbox itself makes, in which nothing else may be mounted.
constexpr std::array kReserved = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc",
                                  "/sys", "/dev", "/run",  "/tmp", "/opt",   "/var", "/root"};

bool IsCleanPath(std::string_view path) {
  if (path.size() < 2 || path.size() > 1024 || path[0] != '/' || path.back() == '/') return false;
  if (path.find('\0') != path.npos || path.find("//") != path.npos) return false;
  for (size_t at = 0; at != path.npos; at = path.find('/', at + 1)) {
    const std::string_view part = path.substr(at + 1, path.find('/', at + 1) - at - 1);
    if (part == "." || part == "..") return false;
  }
  return true;
}

bool Below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

class Checker {
 public:
  void Need(bool ok, std::string path, std::string_view found, std::string allowed) {
    if (!ok) problems_.push_back({std::move(path), std::string(found.substr(0, 200)), std::move(allowed)});
  }
  Result<void> Finish() {
    if (problems_.empty()) return {};
    const FieldProblem& first = problems_.front();
    Error error(Code::kInvalid, first.path + ": found '" + first.found + "', allowed is " + first.allowed);
    error.fields = std::move(problems_);
    return Fail(std::move(error));
  }

 private:
  std::vector<FieldProblem> problems_;
};

bool NoNul(std::string_view text) { return text.find('\0') == text.npos && text.size() < kMaxTextBytes; }

void CheckMounts(const PodRun& run, Checker& check) {
  check.Need(run.mounts.size() <= kMaxMounts, "mounts", std::to_string(run.mounts.size()), "at most 32");
  std::vector<std::string_view> seen;
  for (size_t i = 0; i < run.mounts.size(); ++i) {
    const Mount& mount = run.mounts[i];
    const std::string at = "mounts[" + std::to_string(i) + "]";
    const bool reserved = std::any_of(kReserved.begin(), kReserved.end(),
                                      [&](const char* folder) { return Below(mount.path, folder); });
    check.Need(IsCleanPath(mount.path) && !reserved, at + ".path", mount.path,
               "an absolute path without '..', outside the system's own folders, such as /data");
    check.Need(std::find(seen.begin(), seen.end(), mount.path) == seen.end(), at + ".path", mount.path,
               "each path once");
    seen.push_back(mount.path);
    check.Need(mount.sub_path.empty() || IsCleanPath("/" + mount.sub_path), at + ".subPath", mount.sub_path,
               "a relative path without '..'");
    check.Need(mount.size_bytes >= 0, at + ".sizeBytes", std::to_string(mount.size_bytes), "0 or more");
    check.Need(mount.archive.size() <= kMaxArchiveBytes, at + ".archive",
               std::to_string(mount.archive.size()) + " bytes", "at most 1 MiB");
    check.Need((mount.kind == Mount::Kind::kCode) == !mount.archive.empty(), at + ".archive",
               std::to_string(mount.archive.size()) + " bytes", "an archive for code, and for nothing else");
  }
}

void CheckLimits(const PodRun& run, Checker& check) {
  const auto between = [&](const char* path, int64_t value, int64_t low, int64_t high, const char* allowed) {
    check.Need(value >= low && value <= high, path, std::to_string(value), allowed);
  };
  between("cpuMilli", run.cpu_milli, 0, 1'000'000'000, "0 or more thousandths of a core");
  check.Need(run.memory_bytes == 0 || run.memory_bytes >= (4 << 20), "memoryBytes",
             std::to_string(run.memory_bytes), "0 (no limit) or at least 4 MiB");
  between("shmBytes", run.shm_bytes, 1 << 12, INT64_MAX, "at least 4 KiB");
  between("tmpBytes", run.tmp_bytes, 1 << 12, INT64_MAX, "at least 4 KiB");
  between("pids", run.pids, 4, 4'000'000, "4 to 4000000");
  between("grace", run.grace.count(), 0, Duration(std::chrono::hours(24)).count(), "0 to 24 hours");
}

}  // namespace

bool IsSafeName(std::string_view name) {
  const auto alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= 64 && alnum(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; });
}

Result<void> CheckRun(const PodRun& run) {
  Checker check;
  const char* name_rule = "1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit";
  check.Need(IsSafeName(run.uid), "uid", run.uid, name_rule);
  check.Need(IsSafeName(run.tenant.id), "tenant.id", run.tenant.id, name_rule);
  check.Need(!run.name.empty() && run.name.size() <= 253 && NoNul(run.name), "name", run.name,
             "1 to 253 bytes");
  check.Need(!run.command.empty() && run.command.size() <= kMaxArgs, "command",
             std::to_string(run.command.size()), "1 to 1024 arguments");
  for (const std::string& text : run.command)
    check.Need(NoNul(text), "command", text, "text without NUL, below 128 KiB");
  check.Need(run.env.size() <= kMaxEnv, "env", std::to_string(run.env.size()), "at most 1024 variables");
  for (const auto& [key, value] : run.env) {
    check.Need(!key.empty() && key.find('=') == key.npos && NoNul(key) && NoNul(value), "env", key,
               "a name without '=' and a value without NUL, below 128 KiB");
  }
  check.Need(run.working_dir == "/" || IsCleanPath(run.working_dir), "workingDir", run.working_dir,
             "an absolute path without '..'");
  check.Need(run.devices.size() <= kMaxDevices, "devices", std::to_string(run.devices.size()), "at most 64");
  for (const std::string& device : run.devices) {
    check.Need(IsCleanPath(device) && device.starts_with("/dev/"), "devices", device, "a path below /dev");
  }
  if (run.door) {
    check.Need(run.door->port != 0, "door.port", "0", "1 to 65535");
    check.Need(run.door->secret.size() >= 16 && run.door->secret.size() <= 256, "door.secret", "(not shown)",
               "16 to 256 bytes");
  }
  if (run.readiness) {
    check.Need(run.readiness->port != 0, "readiness.port", "0", "1 to 65535");
    check.Need(run.readiness->path.starts_with('/') &&
                   run.readiness->path.find_first_of(" \r\n") == std::string::npos,
               "readiness.path", run.readiness->path, "a path that begins with '/'");
    check.Need(run.readiness->period >= std::chrono::milliseconds(50), "readiness.period",
               std::to_string(run.readiness->period.count()) + " ns", "at least 50 ms");
  }
  CheckMounts(run, check);
  CheckLimits(run, check);
  return check.Finish();
}

Value ToJson(const Tenant& tenant) {
  return Object{
      {"id", tenant.id}, {"uid", static_cast<int64_t>(tenant.uid)}, {"dataFolder", tenant.data_folder}};
}

Tenant TenantFromJson(const Value& value) {
  return {value["id"].AsString(), static_cast<uint32_t>(value["uid"].AsInt()),
          value["dataFolder"].AsString()};
}

Value ToJson(const PodRun& run) {
  Array env, mounts;
  for (const auto& [key, value] : run.env) env.push_back(Array{key, value});
  for (const Mount& mount : run.mounts) mounts.push_back(MountJson(mount));
  Object object{{"uid", run.uid},
                {"name", run.name},
                {"namespace", run.namespace_name},
                {"tenant", ToJson(run.tenant)},
                {"image", run.image},
                {"command", Strings(run.command)},
                {"workingDir", run.working_dir},
                {"env", env},
                {"mounts", mounts},
                {"cpuMilli", run.cpu_milli},
                {"memoryBytes", run.memory_bytes},
                {"shmBytes", run.shm_bytes},
                {"tmpBytes", run.tmp_bytes},
                {"pids", run.pids},
                {"devices", Strings(run.devices)},
                {"grace", Nanos(run.grace)},
                {"restart", run.restart}};
  if (run.door)
    object.Set("door", Object{{"port", static_cast<int64_t>(run.door->port)}, {"secret", run.door->secret}});
  if (run.readiness) {
    const HttpProbe& probe = *run.readiness;
    object.Set("readiness", Object{{"path", probe.path},
                                   {"port", static_cast<int64_t>(probe.port)},
                                   {"period", Nanos(probe.period)},
                                   {"timeout", Nanos(probe.timeout)},
                                   {"failureThreshold", static_cast<int64_t>(probe.failure_threshold)}});
  }
  return object;
}

Result<PodRun> PodRunFromJson(const Value& value) {
  PodRun run;
  run.uid = value["uid"].AsString();
  run.name = value["name"].AsString();
  run.namespace_name = value["namespace"].AsString();
  run.tenant = TenantFromJson(value["tenant"]);
  run.image = value["image"].AsString();
  run.command = StringsFrom(value["command"]);
  run.working_dir = value["workingDir"].AsString();
  for (const Value& pair : value["env"].AsArray()) {
    if (pair.AsArray().size() != 2) return Fail(Code::kInvalid, "env: a variable is a name and a value");
    run.env.emplace_back(pair.AsArray()[0].AsString(), pair.AsArray()[1].AsString());
  }
  for (const Value& entry : value["mounts"].AsArray()) {
    ASSIGN_OR_RETURN(Mount mount, MountFromJson(entry));
    run.mounts.push_back(std::move(mount));
  }
  run.cpu_milli = value["cpuMilli"].AsInt();
  run.memory_bytes = value["memoryBytes"].AsInt();
  run.shm_bytes = value["shmBytes"].AsInt(run.shm_bytes);
  run.tmp_bytes = value["tmpBytes"].AsInt(run.tmp_bytes);
  run.pids = value["pids"].AsInt(run.pids);
  run.devices = StringsFrom(value["devices"]);
  run.grace = NanosFrom(value["grace"]);
  run.restart = value["restart"].AsBool();
  if (const Value& door = value["door"]; door.IsObject()) {
    run.door = Door{static_cast<uint16_t>(door["port"].AsInt()), door["secret"].AsString()};
  }
  if (const Value& probe = value["readiness"]; probe.IsObject()) {
    run.readiness = HttpProbe{probe["path"].AsString(), static_cast<uint16_t>(probe["port"].AsInt()),
                              NanosFrom(probe["period"]), NanosFrom(probe["timeout"]),
                              static_cast<int>(probe["failureThreshold"].AsInt(3))};
  }
  return run;
}

Value ToJson(const PodState& state) {
  return Object{{"uid", state.uid},
                {"phase", kPhases[static_cast<size_t>(state.phase)]},
                {"ready", state.ready},
                {"exitCode", state.exit_code},
                {"signal", state.signal},
                {"oomKilled", state.oom_killed},
                {"restarts", state.restarts},
                {"message", state.message},
                {"startedAt", TimeValue(state.started_at)},
                {"finishedAt", TimeValue(state.finished_at)},
                {"doorSocket", state.door_socket}};
}

PodState PodStateFromJson(const Value& value) {
  PodState state;
  state.uid = value["uid"].AsString();
  const auto phase = std::find(kPhases.begin(), kPhases.end(), value["phase"].AsString());
  state.phase = phase == kPhases.end() ? PodPhase::kLost : static_cast<PodPhase>(phase - kPhases.begin());
  state.ready = value["ready"].AsBool();
  state.exit_code = static_cast<int>(value["exitCode"].AsInt());
  state.signal = static_cast<int>(value["signal"].AsInt());
  state.oom_killed = value["oomKilled"].AsBool();
  state.restarts = static_cast<int>(value["restarts"].AsInt());
  state.message = value["message"].AsString();
  state.started_at = TimeFrom(value["startedAt"]);
  state.finished_at = TimeFrom(value["finishedAt"]);
  state.door_socket = value["doorSocket"].AsString();
  return state;
}

Value ToJson(const Error& error) {
  Array fields;
  for (const FieldProblem& field : error.fields) {
    fields.push_back(Object{{"path", field.path}, {"found", field.found}, {"allowed", field.allowed}});
  }
  return Object{{"code", CodeName(error.code)}, {"message", error.message}, {"fields", fields}};
}

Error ErrorFromJson(const Value& value) {
  Error error(Code::kInternal, value["message"].AsString());
  for (int code = 0; code <= static_cast<int>(Code::kCancelled); ++code) {
    if (CodeName(static_cast<Code>(code)) == value["code"].AsString()) error.code = static_cast<Code>(code);
  }
  for (const Value& field : value["fields"].AsArray()) {
    error.fields.push_back(
        {field["path"].AsString(), field["found"].AsString(), field["allowed"].AsString()});
  }
  return error;
}

}  // namespace cubeplane::engine::node
