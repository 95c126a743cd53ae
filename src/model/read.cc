// JSON to objects. One reader serves people and the store; what differs is whether the status is read.
#include <memory>

#include "json/json.h"
#include "model/codec.h"
#include "model/fields.h"
#include "model/names.h"

namespace cubeplane::model {
namespace {

constexpr size_t kMaxMembers = 1000, kMaxBindings = 64, kMaxPools = 32, kMaxContacts = 50, kMaxEnv = 200,
                 kMaxReasons = 1000, kMaxConditions = 50;

void ReadMetadata(Fields& fields, Metadata& metadata) {
  fields.Read("name", metadata.name);
  fields.Read("project", metadata.project);
  fields.Read("labels", metadata.labels);
  fields.Read("annotations", metadata.annotations);
  fields.Read("uid", metadata.uid);
  fields.ReadNumberText("resourceVersion", metadata.resource_version);
  fields.Read("generation", metadata.generation);
  fields.Read("owner", metadata.owner);
  fields.Read("createdAt", metadata.created);
  fields.Read("deletedAt", metadata.deleted);
}

void ReadContact(Fields& fields, Contact& contact) {
  fields.Read("name", contact.name);
  fields.Read("email", contact.email);
}

void ReadMember(Fields& fields, Member& member) {
  fields.Read("user", member.user);
  fields.ReadEnum<Role>("role", member.role, ParseRole, kRoleWords);
}

void ReadPool(Fields& fields, PoolQuota& pool) {
  fields.Read("name", pool.name);
  fields.Read("limits", pool.limits);
}

void ReadLimitRange(Fields& fields, LimitRange& range) {
  fields.Read("default", range.default_limit);
  fields.Read("defaultRequest", range.default_request);
  fields.Read("max", range.max);
  fields.Read("min", range.min);
  fields.Read("maxLimitRequestRatio", range.max_ratio);
}

void ReadBinding(Fields& fields, Binding& binding) {
  fields.Read("cluster", binding.cluster);
  fields.Read("resourceGroup", binding.resource_group);
  fields.ReadList<PoolQuota>("pools", binding.pools, kMaxPools, ReadPool);
  fields.Read("quota", binding.quota);
  fields.ReadObject<LimitRange>("limitRange", binding.limit_range, ReadLimitRange);
}

void ReadProjectSpec(Fields& fields, ProjectSpec& spec) {
  fields.Read("displayName", spec.display_name);
  fields.ReadList<Contact>("contacts", spec.contacts, kMaxContacts, ReadContact);
  fields.ReadList<Member>("members", spec.members, kMaxMembers, ReadMember);
  fields.ReadList<Binding>("bindings", spec.bindings, kMaxBindings, ReadBinding);
  fields.Read("cohort", spec.cohort);
  fields.Read("weight", spec.weight);
}

void ReadCondition(Fields& fields, Condition& condition) {
  std::string status;
  std::optional<Time> since;
  fields.Read("type", condition.type);
  fields.Read("status", status);
  fields.Read("reason", condition.reason);
  fields.ReadPairs("params", condition.params);
  fields.Read("lastTransitionTime", since);
  condition.status = status == "True";
  if (since) condition.since = *since;
}

void ReadProjectStatus(Fields& fields, ProjectStatus& status) {
  fields.ReadList<Condition>("conditions", status.conditions, kMaxConditions, ReadCondition);
}

void ReadResources(Fields& fields, Resources& resources) {
  fields.ReadPositive("cpu", resources.cpu, "more than 0, such as 500m or 2");
  fields.ReadPositive("memory", resources.memory, "more than 0, such as 512Mi or 64Gi");
  fields.Read("cpuRequest", resources.cpu_request);
  fields.Read("memoryRequest", resources.memory_request);
  fields.Read("gpu", resources.gpu);
  fields.Read("ephemeralStorage", resources.ephemeral_storage);
  fields.Read("shm", resources.shm);
}

void ReadEnv(Fields& fields, EnvVar& env) {
  fields.Read("name", env.name);
  fields.Read("value", env.value);
}

void ReadSpec(Fields& fields, WorkloadSpec& spec) {
  fields.Read("image", spec.image);
  fields.Read("command", spec.command);
  fields.Read("args", spec.args);
  fields.ReadList<EnvVar>("env", spec.env, kMaxEnv, ReadEnv);
  fields.ReadObject<Resources>("resources", spec.resources, ReadResources);
  fields.Read("code", spec.code);
  fields.Read("pool", spec.pool);
  fields.Read("cluster", spec.cluster);
  fields.Read("priority", spec.priority);
  fields.Read("stopped", spec.stopped);
}

void ReadNotebookSpec(Fields& fields, WorkloadSpec& spec) {
  ReadSpec(fields, spec);
  fields.Read("queue", spec.queue);
}

void ReadTrainingSpec(Fields& fields, WorkloadSpec& spec) {
  ReadSpec(fields, spec);
  fields.Read("replicas", spec.replicas);
  fields.Read("retries", spec.retries);
  fields.Read("timeLimitSeconds", spec.time_limit_seconds);
}

void ReadReason(Fields& fields, Reason& reason) {
  fields.Read("code", reason.code);
  fields.ReadPairs("params", reason.params);
}

void ReadAttempt(Fields& fields, AttemptStatus& attempt) {
  fields.Read("number", attempt.number);
  fields.Read("cluster", attempt.cluster);
  fields.Read("pool", attempt.pool);
  fields.Read("node", attempt.node);
  fields.Read("pod", attempt.pod);
  fields.Read("podUid", attempt.pod_uid);
  fields.Read("podRestarts", attempt.pod_restarts);
  fields.Read("admittedAt", attempt.admitted);
  fields.Read("sentAt", attempt.sent);
  fields.Read("startedAt", attempt.started);
  fields.Read("endedAt", attempt.ended);
  fields.Read("exitCode", attempt.exit_code);
  fields.Read("neverBegan", attempt.never_began);
  fields.Read("proof", attempt.proof);
}

void ReadStatus(Fields& fields, WorkloadStatus& status) {
  fields.ReadEnum<Phase>("phase", status.phase, ParsePhase, kPhaseWords);
  fields.ReadObject<Reason>("reason", status.reason, ReadReason);
  fields.ReadList<Reason>("details", status.details, kMaxReasons, ReadReason);
  fields.Read("place", status.place);
  fields.Read("acceptedAt", status.accepted);
  fields.Read("admittedAt", status.admitted);
  fields.Read("sentAt", status.sent);
  fields.Read("startedAt", status.started);
  fields.Read("endedAt", status.ended);
  fields.Read("waitingSince", status.waiting_since);
  fields.ReadList<AttemptStatus>("attempts", status.attempts, Fields::kMaxList, ReadAttempt);
  fields.Read("restarts", status.restarts);
  fields.Read("address", status.address);
  if (const json::Value* result = fields.Take("result")) {
    status.result = result->IsString() ? result->AsString() : json::Write(*result);
  }
  fields.ReadList<Condition>("conditions", status.conditions, kMaxConditions, ReadCondition);
}

enum class Source { kPerson, kStore };

const std::vector<std::string_view> kKinds = {"Project", "Notebook", "TrainingJob"};

// apiVersion and kind; gives the kind, "" when it is none that is allowed.
std::string ReadType(Fields& fields, const std::vector<std::string_view>& kinds, Problems& problems) {
  std::string version, kind;
  fields.Read("apiVersion", version);
  fields.Read("kind", kind);
  if (version != kApiVersion) problems.Add("apiVersion", version, std::string(kApiVersion));
  for (std::string_view allowed : kinds) {
    if (kind == allowed) return kind;
  }
  const std::string near = DidYouMean(kind, kinds);
  problems.Add("kind", kind, (near.empty() ? "" : "did you mean `" + near + "`? ") + "one of " + Join(kinds));
  return "";
}

Project ReadProject(Fields& fields, Source source) {
  Project project;
  fields.ReadObject<Metadata>("metadata", project.metadata, ReadMetadata);
  fields.ReadObject<ProjectSpec>("spec", project.spec, ReadProjectSpec);
  if (source == Source::kStore) {
    fields.ReadObject<ProjectStatus>("status", project.status, ReadProjectStatus);
  } else {
    fields.Ignore("status");
  }
  return project;
}

Workload ReadWorkload(Fields& fields, WorkloadKind kind, Source source) {
  Workload workload;
  workload.kind = kind;
  fields.ReadObject<Metadata>("metadata", workload.metadata, ReadMetadata);
  const bool notebook = kind == WorkloadKind::kNotebook;
  fields.ReadObject<WorkloadSpec>("spec", workload.spec, notebook ? ReadNotebookSpec : ReadTrainingSpec);
  if (source == Source::kStore) {
    fields.ReadObject<WorkloadStatus>("status", workload.status, ReadStatus);
  } else {
    fields.Ignore("status");
  }
  return workload;
}

Result<Object> ReadObject(const json::Value& value, const std::vector<std::string_view>& kinds,
                          Source source) {
  Problems problems;
  Object object;
  if (!value.IsObject()) {
    problems.Add("body", FoundText(value), "an object with apiVersion, kind, metadata and spec");
    return Fail(problems.ToError());
  }
  {
    Fields fields(value, "", problems);
    const std::string kind = ReadType(fields, kinds, problems);
    // Without a known kind the fields cannot be judged.
    if (kind.empty()) {
      for (const char* name : {"metadata", "spec", "status"}) fields.Ignore(name);
    } else if (kind == "Project") {
      object = ReadProject(fields, source);
    } else {
      object = ReadWorkload(fields, *ParseKind(kind), source);
    }
  }
  if (!problems.empty()) return Fail(problems.ToError());
  return object;
}

template <class T>
Result<T> FromStore(const json::Value& value, const std::vector<std::string_view>& kinds) {
  auto object = ReadObject(value, kinds, Source::kStore);
  if (!object) {
    return Fail(Code::kInternal, "reading an object of the store: " + object.error().message);
  }
  return std::get<T>(std::move(*object));
}

const std::vector<std::string_view> kProjectKinds = {"Project"};
const std::vector<std::string_view> kWorkloadKinds = {"Notebook", "TrainingJob"};

}  // namespace

Result<Object> ParseObject(const json::Value& value) { return ReadObject(value, kKinds, Source::kPerson); }

Result<Project> ParseProject(const json::Value& value) {
  ASSIGN_OR_RETURN(Object object, ReadObject(value, kProjectKinds, Source::kPerson));
  return std::get<Project>(std::move(object));
}

Result<Workload> ParseWorkload(const json::Value& value) {
  ASSIGN_OR_RETURN(Object object, ReadObject(value, kWorkloadKinds, Source::kPerson));
  return std::get<Workload>(std::move(object));
}

Result<Project> ProjectFromStore(const json::Value& value) {
  return FromStore<Project>(value, kProjectKinds);
}
Result<Workload> WorkloadFromStore(const json::Value& value) {
  return FromStore<Workload>(value, kWorkloadKinds);
}

}  // namespace cubeplane::model
