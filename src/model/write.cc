// Objects to JSON. Empty members are left out, and so are defaults that the reader restores.
#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::model {
namespace {

using json::Array;
using json::Value;
using JsonObject = json::Object;

// Sets a member unless it is empty.
void Put(JsonObject& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object.Set(name, text);
}
void Put(JsonObject& object, std::string_view name, bool value) {
  if (value) object.Set(name, true);
}
void Put(JsonObject& object, std::string_view name, int64_t value) {
  if (value != 0) object.Set(name, value);
}
void Put(JsonObject& object, std::string_view name, const std::optional<Time>& time) {
  if (time) object.Set(name, FormatTime(*time));
}
void Put(JsonObject& object, std::string_view name, const std::optional<Quantity>& quantity) {
  if (quantity) object.Set(name, quantity->ToString());
}
void Put(JsonObject& object, std::string_view name, const ResourceList& list) {
  if (list.empty()) return;
  JsonObject amounts;
  for (const auto& [key, quantity] : list) amounts.Set(key, quantity.ToString());
  object.Set(name, std::move(amounts));
}
void Put(JsonObject& object, std::string_view name, const StringMap& map) {
  if (map.empty()) return;
  JsonObject texts;
  for (const auto& [key, text] : map) texts.Set(key, text);
  object.Set(name, std::move(texts));
}
void Put(JsonObject& object, std::string_view name, const std::vector<std::string>& words) {
  if (words.empty()) return;
  Array array;
  for (const std::string& word : words) array.emplace_back(word);
  object.Set(name, std::move(array));
}
void Put(JsonObject& object, std::string_view name, JsonObject part) {
  if (!part.empty()) object.Set(name, std::move(part));
}
template <class T>
void PutList(JsonObject& object, std::string_view name, const std::vector<T>& items,
             JsonObject (*write)(const T&)) {
  if (items.empty()) return;
  Array array;
  for (const T& item : items) array.emplace_back(write(item));
  object.Set(name, std::move(array));
}
void PutPairs(JsonObject& object, std::string_view name,
              const std::vector<std::pair<std::string, std::string>>& pairs) {
  JsonObject texts;
  for (const auto& [key, text] : pairs) texts.Set(key, text);
  Put(object, name, std::move(texts));
}

JsonObject Write(const Metadata& metadata) {
  JsonObject object;
  object.Set("name", metadata.name);
  Put(object, "project", metadata.project);
  Put(object, "uid", metadata.uid);
  if (metadata.resource_version != 0)
    object.Set("resourceVersion", std::to_string(metadata.resource_version));
  Put(object, "generation", metadata.generation);
  Put(object, "owner", metadata.owner);
  Put(object, "createdAt", metadata.created);
  Put(object, "deletedAt", metadata.deleted);
  Put(object, "labels", metadata.labels);
  Put(object, "annotations", metadata.annotations);
  return object;
}

JsonObject Write(const Condition& condition) {
  JsonObject object{{"type", condition.type}, {"status", condition.status ? "True" : "False"}};
  Put(object, "reason", condition.reason);
  PutPairs(object, "params", condition.params);
  object.Set("lastTransitionTime", FormatTime(condition.since));
  return object;
}

JsonObject Write(const Contact& contact) {
  JsonObject object;
  Put(object, "name", contact.name);
  Put(object, "email", contact.email);
  return object;
}

JsonObject Write(const Member& member) { return {{"user", member.user}, {"role", RoleName(member.role)}}; }

JsonObject Write(const PoolQuota& pool) {
  JsonObject object{{"name", pool.name}};
  Put(object, "limits", pool.limits);
  return object;
}

JsonObject Write(const LimitRange& range) {
  JsonObject object;
  Put(object, "default", range.default_limit);
  Put(object, "defaultRequest", range.default_request);
  Put(object, "max", range.max);
  Put(object, "min", range.min);
  Put(object, "maxLimitRequestRatio", range.max_ratio);
  return object;
}

JsonObject Write(const Binding& binding) {
  JsonObject object{{"cluster", binding.cluster}, {"resourceGroup", binding.resource_group}};
  PutList(object, "pools", binding.pools, Write);
  Put(object, "quota", binding.quota);
  Put(object, "limitRange", Write(binding.limit_range));
  return object;
}

JsonObject Write(const ProjectSpec& spec) {
  JsonObject object;
  Put(object, "displayName", spec.display_name);
  PutList(object, "contacts", spec.contacts, Write);
  PutList(object, "members", spec.members, Write);
  PutList(object, "bindings", spec.bindings, Write);
  Put(object, "cohort", spec.cohort);
  object.Set("weight", spec.weight);
  return object;
}

JsonObject Write(const Resources& resources) {
  JsonObject object;
  if (!resources.cpu.IsZero()) object.Set("cpu", resources.cpu.ToString());
  if (!resources.memory.IsZero()) object.Set("memory", resources.memory.ToString());
  Put(object, "cpuRequest", resources.cpu_request);
  Put(object, "memoryRequest", resources.memory_request);
  if (resources.gpu) object.Set("gpu", GpuText(*resources.gpu));
  Put(object, "ephemeralStorage", resources.ephemeral_storage);
  Put(object, "shm", resources.shm);
  return object;
}

JsonObject Write(const EnvVar& env) { return {{"name", env.name}, {"value", env.value}}; }

JsonObject Write(const WorkloadSpec& spec, WorkloadKind kind) {
  JsonObject object{{"image", spec.image}};
  Put(object, "command", spec.command);
  Put(object, "args", spec.args);
  PutList(object, "env", spec.env, Write);
  Put(object, "resources", Write(spec.resources));
  Put(object, "code", spec.code);
  Put(object, "pool", spec.pool);
  Put(object, "cluster", spec.cluster);
  object.Set("priority", spec.priority);
  if (kind == WorkloadKind::kTrainingJob) {
    object.Set("replicas", spec.replicas);
    Put(object, "retries", int64_t{spec.retries});
    Put(object, "timeLimitSeconds", spec.time_limit_seconds);
  } else {
    Put(object, "queue", spec.queue);
  }
  Put(object, "stopped", spec.stopped);
  return object;
}

JsonObject Write(const Reason& reason) {
  JsonObject object;
  Put(object, "code", reason.code);
  PutPairs(object, "params", reason.params);
  return object;
}

JsonObject Write(const AttemptStatus& attempt) {
  JsonObject object{{"number", attempt.number}};
  Put(object, "cluster", attempt.cluster);
  Put(object, "pool", attempt.pool);
  Put(object, "node", attempt.node);
  Put(object, "pod", attempt.pod);
  Put(object, "podUid", attempt.pod_uid);
  Put(object, "podRestarts", int64_t{attempt.pod_restarts});
  if (attempt.never_began) object.Set("neverBegan", true);
  Put(object, "admittedAt", attempt.admitted);
  Put(object, "sentAt", attempt.sent);
  Put(object, "startedAt", attempt.started);
  Put(object, "endedAt", attempt.ended);
  if (attempt.exit_code) object.Set("exitCode", *attempt.exit_code);
  Put(object, "proof", attempt.proof);
  return object;
}

// The job's JSON as JSON; a text that is none stays a text.
void PutResult(JsonObject& object, const std::string& result) {
  if (result.empty()) return;
  auto parsed = json::Parse(result);
  object.Set("result", parsed && parsed->IsObject() ? std::move(*parsed) : Value(result));
}

JsonObject Write(const WorkloadStatus& status) {
  JsonObject object{{"phase", PhaseName(status.phase)}};
  Put(object, "reason", Write(status.reason));
  PutList(object, "details", status.details, Write);
  Put(object, "place", int64_t{status.place});
  Put(object, "acceptedAt", status.accepted);
  Put(object, "admittedAt", status.admitted);
  Put(object, "sentAt", status.sent);
  Put(object, "startedAt", status.started);
  Put(object, "endedAt", status.ended);
  Put(object, "waitingSince", status.waiting_since);
  PutList(object, "attempts", status.attempts, Write);
  Put(object, "restarts", int64_t{status.restarts});
  Put(object, "address", status.address);
  PutResult(object, status.result);
  PutList(object, "conditions", status.conditions, Write);
  return object;
}

}  // namespace

json::Value ToJson(const Project& project) {
  JsonObject status;
  PutList(status, "conditions", project.status.conditions, Write);
  JsonObject object{{"apiVersion", kApiVersion},
                    {"kind", "Project"},
                    {"metadata", Write(project.metadata)},
                    {"spec", Write(project.spec)}};
  Put(object, "status", std::move(status));
  return object;
}

json::Value ToJson(const Workload& workload) {
  return JsonObject{{"apiVersion", kApiVersion},
                    {"kind", KindName(workload.kind)},
                    {"metadata", Write(workload.metadata)},
                    {"spec", Write(workload.spec, workload.kind)},
                    {"status", Write(workload.status)}};
}

}  // namespace cubeplane::model
