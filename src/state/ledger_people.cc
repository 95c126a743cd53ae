#include "json/json.h"
#include "model/codec.h"
#include "model/validate.h"
#include "state/impl.h"

// What people do with workloads.
namespace cubeplane::state {
namespace {

using model::Phase;
using model::Workload;

std::string Text(const Workload& workload) { return json::Write(model::ToJson(workload)); }
std::string SpecText(const Workload& workload) {
  return json::WriteCanonical(model::ToJson(workload)["spec"]);
}

Result<Workload> Parse(const storage::IdempotencyRow& row) {
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(row.answer));
  return model::WorkloadFromStore(value);
}

// ---- Creating

// The limit range whose defaults count: of the cluster that was asked for, or of the first binding.
model::LimitRange LimitsFor(const Line& line, const Workload& workload) {
  for (const OpenBinding& open : line.bindings) {
    if (workload.spec.cluster.empty() || workload.spec.cluster == open.row.cluster)
      return open.binding.limit_range;
  }
  return {};
}

Result<void> CheckNew(storage::Reader& reader, const Decision& decision, const Workload& workload) {
  const model::Metadata& metadata = workload.metadata;
  const std::string_view kind = model::KindName(workload.kind);
  ASSIGN_OR_RETURN(const auto there, reader.GetObject(kind, metadata.project, metadata.name));
  if (there) {
    return Fail(Error(Code::kAlreadyExists, "workload_exists",
                      {{"name", metadata.name}, {"project", metadata.project}},
                      metadata.name + " is there already in " + metadata.project));
  }
  return CheckName(reader, kind, metadata, decision.steady_now, decision.name_retention);
}

// Room among those that wait; `waiting` becomes how many there are.
Result<void> CheckRoom(storage::Reader& reader, const Decision& decision, const std::string& project,
                       size_t& waiting) {
  ASSIGN_OR_RETURN(const auto rows, reader.WorkloadsInPhase(model::PhaseName(Phase::kWaiting), project));
  waiting = rows.size();
  if (waiting < decision.max_waiting) return {};
  const std::string limit = std::to_string(decision.max_waiting);
  return Fail(Error(Code::kTooMany, "too_many_waiting", {{"project", project}, {"limit", limit}},
                    limit + " workloads wait already in " + project));
}

void BeginWaiting(Workload& workload, size_t ahead, Time now) {
  model::WorkloadStatus& status = workload.status;
  status.phase = Phase::kWaiting;
  status.waiting_since = now;
  status.place = static_cast<int32_t>(ahead) + 1;
  status.reason = ahead == 0 ? model::Reason{"first_in_line", {{"project", workload.metadata.project}}}
                             : model::Reason{"waits_in_line",
                                             {{"place", std::to_string(status.place)},
                                              {"project", workload.metadata.project},
                                              {"ahead", std::to_string(ahead)}}};
  status.details.clear();
}

// Lets `record` into the line: a notebook that was not asked to queue is admitted now or refused; others
// wait, unless they can never be admitted. Saves it.
Result<WorkloadRecord> Enter(storage::Txn& txn, const Decision& decision, WorkloadRecord record, Line line) {
  const bool at_once = record.workload.kind == model::WorkloadKind::kNotebook && !record.workload.spec.queue;
  size_t waiting = 0;
  RETURN_IF_ERROR(CheckRoom(txn, decision, record.workload.metadata.project, waiting));
  RETURN_IF_ERROR(CheckEverFits(line, record.workload));
  BeginWaiting(record.workload, waiting, decision.conditions.now);
  if (!at_once) {
    RETURN_IF_ERROR(SaveWorkload(txn, record));
    return record;
  }
  RETURN_IF_ERROR(JoinLine(line, std::move(record), decision.conditions));
  ASSIGN_OR_RETURN(const auto admitted, AdvanceLine(txn, line, decision.conditions));
  WorkloadRecord& last = line.waiting.back();
  if (last.workload.status.phase != Phase::kAdmitted) return Fail(RefusalOfLast(line));
  return std::move(last);
}

Result<Changed<Workload>> Create(storage::Txn& txn, const Decision& decision, Workload workload) {
  ASSIGN_OR_RETURN(const auto earlier, decision.Earlier(txn));
  if (earlier) {
    ASSIGN_OR_RETURN(Workload first, Parse(*earlier));
    return Changed<Workload>{std::move(first), true, true, false};
  }
  const std::string project = workload.metadata.project;
  RETURN_IF_ERROR(ReadProject(txn, project));
  const bool notebook = workload.kind == model::WorkloadKind::kNotebook;
  ASSIGN_OR_RETURN(Line line,
                   OpenLine(txn, project, decision.conditions, notebook ? Whom::kNotebooks : Whom::kNobody));
  model::ApplyDefaults(workload, LimitsFor(line, workload));
  RETURN_IF_ERROR(model::Validate(workload));
  RETURN_IF_ERROR(CheckNew(txn, decision, workload));
  const std::string kind(model::KindName(workload.kind));
  WorkloadRecord record{workload, {workload.metadata.uid, kind, project, workload.metadata.name, 0, "", ""}};
  record.workload.status.accepted = decision.conditions.now;
  ASSIGN_OR_RETURN(record, Enter(txn, decision, std::move(record), std::move(line)));
  RETURN_IF_ERROR(ClaimName(txn, kind, record.workload.metadata));
  RETURN_IF_ERROR(Record(txn, decision.call, decision.conditions.now, "create", NameOf(record.workload), "",
                         SpecText(record.workload)));
  RETURN_IF_ERROR(decision.Keep(txn, 201, Text(record.workload), record.workload.metadata.uid));
  return Changed<Workload>{std::move(record.workload), true, false, false};
}

// ---- Updating

// What was left out means: as it is.
void FillFromStored(Workload& sent, const Workload& stored) {
  model::Resources& resources = sent.spec.resources;
  const model::Resources& kept = stored.spec.resources;
  if (resources.cpu.IsZero()) {
    resources.cpu = kept.cpu;
    if (!resources.cpu_request) resources.cpu_request = kept.cpu_request;
  }
  if (resources.memory.IsZero()) {
    resources.memory = kept.memory;
    if (!resources.memory_request) resources.memory_request = kept.memory_request;
  }
  if (!resources.shm) resources.shm = kept.shm;
  sent.spec.stopped = stored.spec.stopped;
  model::ApplyDefaults(sent, {});
}

// The path of the first member in which the two differ; "" when they are equal.
std::string FirstDifference(const json::Value& a, const json::Value& b, const std::string& path) {
  if (a == b) return "";
  if (!a.IsObject() || !b.IsObject()) return path;
  for (const auto* side : {&a, &b}) {
    for (const auto& [key, value] : side->AsObject()) {
      const std::string found = FirstDifference(a[key], b[key], path + "." + key);
      if (!found.empty()) return found;
    }
  }
  return path;
}

Result<Changed<Workload>> Update(storage::Txn& txn, const Decision& decision, Workload sent,
                                 std::optional<int64_t> expected) {
  ASSIGN_OR_RETURN(const auto earlier, decision.Earlier(txn));
  if (earlier) {
    ASSIGN_OR_RETURN(Workload first, Parse(*earlier));
    return Changed<Workload>{std::move(first), false, true, false};
  }
  ASSIGN_OR_RETURN(WorkloadRecord record,
                   ReadWorkload(txn, WorkloadKey{sent.kind, sent.metadata.project, sent.metadata.name}));
  Workload& stored = record.workload;
  if (expected && *expected != stored.metadata.resource_version)
    return Fail(ChangedMeanwhile(stored.metadata.name));
  FillFromStored(sent, stored);
  const json::Value stored_json = model::ToJson(stored), sent_json = model::ToJson(sent);
  const std::string field = FirstDifference(stored_json["spec"], sent_json["spec"], "spec");
  if (!field.empty()) {
    Error error(Code::kInvalid, "spec_immutable", {{"field", field}},
                field + " cannot change while the workload lives");
    const json::Value& found = sent_json.At(field);
    error.fields.push_back(
        {field, found.IsString() ? found.AsString() : json::Write(found), "what it is now"});
    return Fail(std::move(error));
  }
  RETURN_IF_ERROR(model::Validate(sent));
  model::Metadata& metadata = stored.metadata;
  if (metadata.labels == sent.metadata.labels && metadata.annotations == sent.metadata.annotations)
    return Changed<Workload>{std::move(stored), false, false, true};
  metadata.labels = std::move(sent.metadata.labels);
  metadata.annotations = std::move(sent.metadata.annotations);
  RETURN_IF_ERROR(SaveWorkload(txn, record));
  RETURN_IF_ERROR(Record(txn, decision.call, decision.conditions.now, "update", NameOf(stored),
                         json::Write(stored_json["metadata"]),
                         json::Write(model::ToJson(stored)["metadata"])));
  RETURN_IF_ERROR(decision.Keep(txn, 200, Text(stored), metadata.uid));
  return Changed<Workload>{std::move(stored), false, false, false};
}

// ---- Stopping, starting, deleting

Result<Workload> Stop(storage::Txn& txn, const Decision& decision, WorkloadRecord& record) {
  Workload& workload = record.workload;
  const Phase phase = workload.status.phase;
  if (phase == Phase::kStopped || phase == Phase::kStopping) return workload;
  if (model::IsTerminal(phase)) {
    const std::string word(model::PhaseName(phase));
    return Fail(Error(Code::kConflict, "workload_ended", {{"name", workload.metadata.name}, {"phase", word}},
                      workload.metadata.name + " has ended (" + word + ")"));
  }
  RETURN_IF_ERROR(EndAtOnceOrStop(txn, record, decision.call.user, decision.conditions.now));
  RETURN_IF_ERROR(SaveWorkload(txn, record));
  return workload;
}

Result<Workload> Start(storage::Txn& txn, const Decision& decision, WorkloadRecord& record) {
  Workload& workload = record.workload;
  const std::string& name = workload.metadata.name;
  if (workload.kind != model::WorkloadKind::kNotebook)
    return Fail(Error(Code::kInvalid, "not_a_notebook", {{"name", name}}, name + " is not a notebook"));
  const std::string word(model::PhaseName(workload.status.phase));
  if (!model::IsTerminal(workload.status.phase) || workload.metadata.deleted) {
    return Fail(Error(Code::kConflict, "workload_not_stopped", {{"name", name}, {"phase", word}},
                      name + " is not stopped (" + word + ")"));
  }
  ASSIGN_OR_RETURN(Line line,
                   OpenLine(txn, workload.metadata.project, decision.conditions, Whom::kNotebooks));
  workload.spec.stopped = false;
  ++workload.metadata.generation;
  record.row.arrival = 0;  // at the end of the line again
  ASSIGN_OR_RETURN(record, Enter(txn, decision, std::move(record), std::move(line)));
  return record.workload;
}

Result<Workload> Delete(storage::Txn& txn, const Decision& decision, WorkloadRecord& record) {
  if (record.workload.metadata.deleted) return record.workload;
  record.workload.metadata.deleted = decision.conditions.now;
  RETURN_IF_ERROR(EndAtOnceOrStop(txn, record, decision.call.user, decision.conditions.now));
  RETURN_IF_ERROR(SaveWorkload(txn, record));
  return record.workload;
}

using Act = Result<Workload> (*)(storage::Txn&, const Decision&, WorkloadRecord&);

Result<Workload> ActOn(storage::Txn& txn, const Decision& decision, const WorkloadKey& key,
                       const std::string& verb, Act act) {
  ASSIGN_OR_RETURN(const auto earlier, decision.Earlier(txn));
  if (earlier) return Parse(*earlier);
  ASSIGN_OR_RETURN(WorkloadRecord record, ReadWorkload(txn, key));
  const int64_t version = record.workload.metadata.resource_version;
  const std::string before(model::PhaseName(record.workload.status.phase));
  ASSIGN_OR_RETURN(Workload workload, act(txn, decision, record));
  if (workload.metadata.resource_version != version) {
    RETURN_IF_ERROR(Record(txn, decision.call, decision.conditions.now, verb, NameOf(workload),
                           json::Write(json::Object{{"phase", before}}),
                           json::Write(json::Object{{"phase", model::PhaseName(workload.status.phase)}})));
  }
  RETURN_IF_ERROR(decision.Keep(txn, 200, Text(workload), workload.metadata.uid));
  return workload;
}

std::function<Result<Workload>(storage::Txn&)> Acting(Decision decision, WorkloadKey key, std::string verb,
                                                      Act act) {
  return [decision = std::move(decision), key = std::move(key), verb = std::move(verb),
          act](storage::Txn& txn) { return ActOn(txn, decision, key, verb, act); };
}

}  // namespace

Result<void> EndAtOnceOrStop(storage::Txn& txn, WorkloadRecord& record, const std::string& user, Time now) {
  Workload& workload = record.workload;
  model::WorkloadStatus& status = workload.status;
  if (model::IsTerminal(status.phase) || status.phase == Phase::kStopping) return {};
  const int32_t attempt = LastAttempt(workload);
  bool nowhere = status.phase == Phase::kWaiting;
  if (status.phase == Phase::kAdmitted && workload.kind == model::WorkloadKind::kTrainingJob) {
    // Without its mark nothing was sent, and after this commit MarkSent refuses it.
    ASSIGN_OR_RETURN(const auto mark, txn.GetSentMark(workload.metadata.uid, attempt));
    nowhere = !mark;
  }
  workload.spec.stopped = true;
  ++workload.metadata.generation;
  status.reason = {"stopped_by", {{"user", user}}};
  status.details.clear();
  status.place = 0;
  if (!nowhere) {
    status.phase = Phase::kStopping;
    return {};
  }
  if (Holds(workload)) {
    RETURN_IF_ERROR(ReleaseAttempt(txn, record, attempt));
    status.attempts.back().ended = now;
    status.attempts.back().proof = "never sent";
  }
  status.phase = Phase::kStopped;
  status.ended = now;
  status.waiting_since.reset();
  return {};
}

async::Task<Result<Changed<Workload>>> Ledger::CreateWorkload(Call call, Workload workload) {
  model::Metadata& metadata = workload.metadata;
  metadata.uid = NewUuid(impl_->clock, impl_->random);
  metadata.owner = call.user;
  metadata.created = impl_->clock.Now();
  metadata.deleted.reset();
  metadata.generation = 1;
  metadata.resource_version = 0;
  workload.spec.stopped = false;
  workload.status = {};
  const bool dry_run = call.dry_run;
  std::function<Result<Changed<Workload>>(storage::Txn&)> decide =
      [decision = Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow()),
       workload = std::move(workload)](storage::Txn& txn) { return Create(txn, decision, workload); };
  Result<Changed<Workload>> changed = co_await Commit(impl_->store, dry_run, std::move(decide));
  co_return changed;
}

async::Task<Result<Changed<Workload>>> Ledger::UpdateWorkload(Call call, Workload workload,
                                                              std::optional<int64_t> expected_version) {
  const bool dry_run = call.dry_run;
  std::function<Result<Changed<Workload>>(storage::Txn&)> decide =
      [decision = Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow()),
       workload = std::move(workload),
       expected_version](storage::Txn& txn) { return Update(txn, decision, workload, expected_version); };
  Result<Changed<Workload>> changed = co_await Commit(impl_->store, dry_run, std::move(decide));
  co_return changed;
}

async::Task<Result<Workload>> Ledger::StopWorkload(Call call, WorkloadKey key) {
  const bool dry_run = call.dry_run;
  const std::string project = key.project;
  Decision decision =
      Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow());
  auto decide = Acting(std::move(decision), std::move(key), "stop", &Stop);
  Result<Workload> workload = co_await Commit(impl_->store, dry_run, std::move(decide));
  if (workload) impl_->FreeHolds(project);
  co_return workload;
}

async::Task<Result<Workload>> Ledger::StartWorkload(Call call, WorkloadKey key) {
  const bool dry_run = call.dry_run;
  Decision decision =
      Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow());
  auto decide = Acting(std::move(decision), std::move(key), "start", &Start);
  Result<Workload> workload = co_await Commit(impl_->store, dry_run, std::move(decide));
  co_return workload;
}

async::Task<Result<Workload>> Ledger::DeleteWorkload(Call call, WorkloadKey key) {
  const bool dry_run = call.dry_run;
  const std::string project = key.project;
  Decision decision =
      Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow());
  auto decide = Acting(std::move(decision), std::move(key), "delete", &Delete);
  Result<Workload> workload = co_await Commit(impl_->store, dry_run, std::move(decide));
  if (workload) impl_->FreeHolds(project);
  co_return workload;
}

}  // namespace cubeplane::state
