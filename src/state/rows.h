// Objects in the store's rows: reading, writing, and who has which name. Inside transactions only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/objects.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::state {

inline constexpr std::string_view kProjectKind = "Project";

// A workload's object and its row of the queue, which change together.
struct WorkloadRecord {
  model::Workload workload;
  storage::WorkloadRow row;
};

Result<model::Project> ParseProjectRow(const storage::ObjectRow& row);
Result<model::Workload> ParseWorkloadRow(const storage::ObjectRow& row);

// kNotFound with the reason `project_not_found`.
Result<model::Project> ReadProject(storage::Reader& reader, std::string_view name);
// kNotFound with the reason `workload_not_found`.
Result<WorkloadRecord> ReadWorkload(storage::Reader& reader, const WorkloadKey& key);
// Nullopt when it is gone.
Result<std::optional<WorkloadRecord>> ReadWorkload(storage::Reader& reader, std::string_view uid);

// Save and set metadata.resource_version.
Result<void> SaveProject(storage::Txn& txn, model::Project& project);
Result<void> SaveWorkload(storage::Txn& txn, WorkloadRecord& record);

// True while the workload's reservation counts: from admission until the proof of the end.
bool Holds(const model::Workload& workload);
// The attempt that is reserved, sent or running, or the last that was; 0 before the first.
int32_t LastAttempt(const model::Workload& workload);
// "Notebook/nlp/nb": for the audit log.
std::string NameOf(const model::Workload& workload);

// Decision 13: a name goes back to its last owner at once, to others after `retention`. kForbidden with the
// days left.
Result<void> CheckName(storage::Reader& reader, std::string_view kind, const model::Metadata& metadata,
                       Time now, Duration retention);
Result<void> ClaimName(storage::Txn& txn, std::string_view kind, const model::Metadata& metadata);
Result<void> FreeName(storage::Txn& txn, std::string_view kind, const model::Metadata& metadata, Time now);

Error ProjectNotFound(std::string_view name);
Error ChangedMeanwhile(std::string_view name);

}  // namespace cubeplane::state
