#include "state/rows.h"

#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::state {
namespace {

template <class T>
Result<T> ParseRow(const storage::ObjectRow& row, Result<T> (*read)(const json::Value&)) {
  auto value = json::Parse(row.json);
  if (!value) return Fail(Code::kInternal, "object " + row.uid + " in the store: " + value.error().message);
  Result<T> object = read(*value);
  if (!object) return Fail(object.error().Wrap("object " + row.uid + " in the store"));
  object->metadata.resource_version = row.resource_version;
  return object;
}

template <class T>
Result<void> SaveObject(storage::Txn& txn, std::string_view kind, T& object) {
  model::Metadata& metadata = object.metadata;
  storage::ObjectRow row{std::string(kind),          metadata.uid, metadata.project, metadata.name, 0,
                         json::Write(ToJson(object))};
  ASSIGN_OR_RETURN(metadata.resource_version, txn.PutObject(row));
  return {};
}

Result<WorkloadRecord> WithRow(storage::Reader& reader, const storage::ObjectRow& object) {
  WorkloadRecord record;
  ASSIGN_OR_RETURN(record.workload, ParseWorkloadRow(object));
  ASSIGN_OR_RETURN(auto row, reader.GetWorkload(object.uid));
  if (!row) return Fail(Code::kInternal, "workload " + object.uid + " has no row in the queue");
  record.row = std::move(*row);
  return record;
}

}  // namespace

Result<model::Project> ParseProjectRow(const storage::ObjectRow& row) {
  return ParseRow<model::Project>(row, &model::ProjectFromStore);
}

Result<model::Workload> ParseWorkloadRow(const storage::ObjectRow& row) {
  return ParseRow<model::Workload>(row, &model::WorkloadFromStore);
}

Error ProjectNotFound(std::string_view name) {
  return Error(Code::kNotFound, "project_not_found", {{"project", std::string(name)}},
               "there is no project " + std::string(name));
}

Error ChangedMeanwhile(std::string_view name) {
  return Error(Code::kConflict, "changed_meanwhile", {{"name", std::string(name)}},
               std::string(name) + " has changed since it was read");
}

Result<model::Project> ReadProject(storage::Reader& reader, std::string_view name) {
  ASSIGN_OR_RETURN(const auto row, reader.GetObject(kProjectKind, "", name));
  if (!row) return Fail(ProjectNotFound(name));
  return ParseProjectRow(*row);
}

Result<WorkloadRecord> ReadWorkload(storage::Reader& reader, const WorkloadKey& key) {
  const std::string kind(model::KindName(key.kind));
  ASSIGN_OR_RETURN(const auto row, reader.GetObject(kind, key.project, key.name));
  if (!row) {
    return Fail(Error(Code::kNotFound, "workload_not_found",
                      {{"kind", kind}, {"name", key.name}, {"project", key.project}},
                      "there is no " + kind + " " + key.name + " in project " + key.project));
  }
  return WithRow(reader, *row);
}

Result<std::optional<WorkloadRecord>> ReadWorkload(storage::Reader& reader, std::string_view uid) {
  ASSIGN_OR_RETURN(const auto row, reader.GetObjectByUid(uid));
  if (!row) return std::optional<WorkloadRecord>();
  ASSIGN_OR_RETURN(WorkloadRecord record, WithRow(reader, *row));
  return std::optional<WorkloadRecord>(std::move(record));
}

Result<void> SaveProject(storage::Txn& txn, model::Project& project) {
  return SaveObject(txn, kProjectKind, project);
}

Result<void> SaveWorkload(storage::Txn& txn, WorkloadRecord& record) {
  RETURN_IF_ERROR(SaveObject(txn, model::KindName(record.workload.kind), record.workload));
  record.row.phase = model::PhaseName(record.workload.status.phase);
  return txn.PutWorkload(record.row);
}

bool Holds(const model::Workload& workload) {
  const model::Phase phase = workload.status.phase;
  return phase != model::Phase::kWaiting && !model::IsTerminal(phase);
}

int32_t LastAttempt(const model::Workload& workload) {
  return workload.status.attempts.empty() ? 0 : workload.status.attempts.back().number;
}

std::string NameOf(const model::Workload& workload) {
  return std::string(model::KindName(workload.kind)) + "/" + workload.metadata.project + "/" +
         workload.metadata.name;
}

Result<void> CheckName(storage::Reader& reader, std::string_view kind, const model::Metadata& metadata,
                       Time now, Duration retention) {
  ASSIGN_OR_RETURN(const auto claim, reader.GetNameClaim(kind, metadata.project, metadata.name));
  if (!claim || claim->owner == metadata.owner || !claim->freed) return {};
  const Duration left = retention - (now - *claim->freed);
  if (left <= Duration::zero()) return {};
  const std::string days = std::to_string(std::chrono::ceil<std::chrono::days>(left).count());
  const bool project = kind == kProjectKind;
  return Fail(Error(Code::kForbidden, project ? "project_name_kept" : "workload_name_kept",
                    {{project ? "project" : "name", metadata.name}, {"days", days}},
                    "the name " + metadata.name + " is kept for its last owner for " + days + " more days"));
}

Result<void> ClaimName(storage::Txn& txn, std::string_view kind, const model::Metadata& metadata) {
  return txn.PutNameClaim(
      {std::string(kind), metadata.project, metadata.name, metadata.owner, metadata.uid, std::nullopt});
}

Result<void> FreeName(storage::Txn& txn, std::string_view kind, const model::Metadata& metadata, Time now) {
  return txn.PutNameClaim(
      {std::string(kind), metadata.project, metadata.name, metadata.owner, metadata.uid, now});
}

}  // namespace cubeplane::state
