#include <algorithm>

#include "json/json.h"
#include "log/log.h"
#include "model/codec.h"
#include "state/impl.h"

// Steps of the controllers.
namespace cubeplane::state {
namespace {

using model::Phase;
using model::Workload;

std::string Figures(const Workload& workload, int32_t attempt, std::string_view word) {
  return json::Write(json::Object{{"attempt", int64_t{attempt}},
                                  {"phase", model::PhaseName(workload.status.phase)},
                                  {"uid", workload.metadata.uid},
                                  {"why", word}});
}

Result<std::vector<Workload>> AdmitIn(storage::Txn& txn, const std::string& project,
                                      const Conditions& conditions) {
  ASSIGN_OR_RETURN(Line line, OpenLine(txn, project, conditions, Whom::kAll));
  ASSIGN_OR_RETURN(std::vector<Workload> admitted, AdvanceLine(txn, line, conditions));
  for (const Workload& workload : admitted) {
    RETURN_IF_ERROR(RecordOwn(txn, conditions.now, "admit", NameOf(workload),
                              Figures(workload, LastAttempt(workload), "")));
  }
  return admitted;
}

// The workload, when `attempt` is its present one and has not ended; nullopt when that is over.
Result<std::optional<WorkloadRecord>> Living(storage::Reader& reader, const std::string& uid,
                                             int32_t attempt) {
  ASSIGN_OR_RETURN(auto record, ReadWorkload(reader, uid));
  if (!record || !Holds(record->workload) || LastAttempt(record->workload) != attempt)
    return std::optional<WorkloadRecord>();
  return record;
}

Result<bool> Mark(storage::Txn& txn, const storage::SentMark& sent) {
  ASSIGN_OR_RETURN(auto record, Living(txn, sent.workload_uid, sent.attempt));
  if (!record || record->workload.status.phase == Phase::kStopping)
    return Fail(Code::kConflict, "attempt " + std::to_string(sent.attempt) + " of " + sent.workload_uid +
                                     " is not to be sent any more");
  ASSIGN_OR_RETURN(const auto known, txn.GetSentMark(sent.workload_uid, sent.attempt));
  if (known) return false;
  model::WorkloadStatus& status = record->workload.status;
  storage::SentMark mark = sent;
  mark.cluster = status.attempts.back().cluster;
  RETURN_IF_ERROR(txn.PutSentMark(mark));
  RETURN_IF_ERROR(txn.SetReservationState(sent.workload_uid, sent.attempt, storage::ReservationState::kSent));
  status.sent = status.attempts.back().sent = sent.at;
  RETURN_IF_ERROR(SaveWorkload(txn, *record));
  return true;
}

// What a controller may change: neither into the line, nor out of the reservation, nor back from stopping.
Result<void> CheckUpdate(const Workload& before, const Workload& after) {
  const Phase from = before.status.phase, to = after.status.phase;
  if (from == to) return {};
  if (Holds(after) && from != Phase::kStopping) return {};
  return Fail(Code::kInternal, NameOf(before) + ": a status update from " +
                                   std::string(model::PhaseName(from)) + " to " +
                                   std::string(model::PhaseName(to)));
}

Result<bool> Update(storage::Txn& txn, const std::string& uid,
                    const std::function<void(model::WorkloadStatus&)>& update) {
  ASSIGN_OR_RETURN(auto record, ReadWorkload(txn, uid));
  if (!record || !Holds(record->workload)) return false;
  const Workload before = record->workload;
  update(record->workload.status);
  if (model::ToJson(before) == model::ToJson(record->workload)) return false;
  RETURN_IF_ERROR(CheckUpdate(before, record->workload));
  RETURN_IF_ERROR(SaveWorkload(txn, *record));
  return true;
}

void BackIntoLine(model::WorkloadStatus& status, model::Reason reason, Time now) {
  status.phase = Phase::kWaiting;
  status.waiting_since = now;
  status.reason = std::move(reason);
  status.details.clear();
  status.address.clear();
}

// Releases, asserting that exactly what was reserved is given back.
Result<void> ReleaseAll(storage::Txn& txn, WorkloadRecord& record, int32_t attempt) {
  ASSIGN_OR_RETURN(const auto rows, txn.ReservationsOf(record.workload.metadata.uid));
  int living = 0;
  for (const storage::ReservationRow& row : rows) {
    if (row.state == storage::ReservationState::kReleased) continue;
    if (row.attempt != attempt)
      return Fail(Code::kInternal, NameOf(record.workload) + ": attempt " + std::to_string(row.attempt) +
                                       " holds quota beside attempt " + std::to_string(attempt));
    ++living;
  }
  ASSIGN_OR_RETURN(const int released, ReleaseAttempt(txn, record, attempt));
  if (released == 0 || released != living)
    return Fail(Code::kInternal, NameOf(record.workload) + ": released " + std::to_string(released) +
                                     " rows of " + std::to_string(living));
  return {};
}

// The attempts so far that count as tries.
int32_t Tries(const model::WorkloadStatus& status) {
  const auto lost = std::ranges::count_if(status.attempts, &model::AttemptStatus::never_began);
  return status.attempts.back().number - static_cast<int32_t>(lost);
}

Result<bool> EndLiving(storage::Txn& txn, const std::string& uid, int32_t attempt, const Ledger::End& end,
                       Time now) {
  ASSIGN_OR_RETURN(auto record, Living(txn, uid, attempt));
  if (!record) return false;
  if (!model::IsTerminal(end.phase))
    return Fail(Code::kInternal, "an attempt cannot end as " + std::string(model::PhaseName(end.phase)));
  RETURN_IF_ERROR(ReleaseAll(txn, *record, attempt));
  Workload& workload = record->workload;
  model::WorkloadStatus& status = workload.status;
  model::AttemptStatus& last = status.attempts.back();
  last.ended = end.at;
  last.exit_code = end.exit_code;
  last.proof = end.proof;
  last.never_began = end.never_began;
  const bool may_retry = end.never_began || (end.retry && Tries(status) <= workload.spec.retries);
  const bool again = may_retry && workload.kind == model::WorkloadKind::kTrainingJob &&
                     status.phase != Phase::kStopping && !workload.metadata.deleted;
  if (again) {
    model::Reason reason{"retrying",
                         {{"attempt", std::to_string(attempt + 1)}, {"message", end.reason.code}}};
    BackIntoLine(status, std::move(reason), now);
    status.details = {end.reason};
  } else {
    status.phase = end.phase;
    // Who stopped it stays shown.
    if (end.phase != Phase::kStopped || !end.reason.code.empty()) status.reason = end.reason;
    status.details.clear();
    status.result = end.result;
    status.ended = end.at;
    status.address.clear();
  }
  RETURN_IF_ERROR(SaveWorkload(txn, *record));
  RETURN_IF_ERROR(RecordOwn(txn, now, "end", NameOf(workload), Figures(workload, attempt, end.proof)));
  return true;
}

Result<bool> Refuse(storage::Txn& txn, const std::string& uid, int32_t attempt, const model::Reason& reason,
                    Time now) {
  ASSIGN_OR_RETURN(auto record, Living(txn, uid, attempt));
  if (!record) return false;
  RETURN_IF_ERROR(ReleaseAll(txn, *record, attempt));
  Workload& workload = record->workload;
  // Nothing ran: the number is free again.
  workload.status.attempts.pop_back();
  if (workload.status.phase == Phase::kStopping) {
    workload.status.phase = Phase::kStopped;
    workload.status.ended = now;
  } else {
    BackIntoLine(workload.status, reason, now);
  }
  RETURN_IF_ERROR(SaveWorkload(txn, *record));
  RETURN_IF_ERROR(
      RecordOwn(txn, now, "refused by cluster", NameOf(workload), Figures(workload, attempt, reason.code)));
  return true;
}

Result<bool> ForgetEnded(storage::Txn& txn, const std::string& uid, Time now, Time steady_now) {
  ASSIGN_OR_RETURN(const auto record, ReadWorkload(txn, uid));
  if (!record) return false;
  const Workload& workload = record->workload;
  if (!workload.metadata.deleted || !model::IsTerminal(workload.status.phase))
    return Fail(Code::kConflict, NameOf(workload) + " is not deleted, or has not ended");
  RETURN_IF_ERROR(txn.DeleteObject(uid));
  RETURN_IF_ERROR(txn.DeleteWorkload(uid));
  RETURN_IF_ERROR(FreeName(txn, model::KindName(workload.kind), workload.metadata, steady_now));
  RETURN_IF_ERROR(RecordOwn(txn, now, "forget", NameOf(workload), ""));
  return true;
}

Result<bool> UpdateProject(storage::Txn& txn, const std::string& name,
                           const std::function<void(model::ProjectStatus&)>& update) {
  ASSIGN_OR_RETURN(model::Project project, ReadProject(txn, name));
  const json::Value before = model::ToJson(project);
  update(project.status);
  if (before == model::ToJson(project)) return false;
  RETURN_IF_ERROR(SaveProject(txn, project));
  return true;
}

}  // namespace

async::Task<Result<std::vector<WorkloadPtr>>> Ledger::AdmitWaiting() {
  std::vector<WorkloadPtr> admitted;
  std::optional<Error> failed;
  for (const std::string& project : impl_->view.ProjectsWaiting()) {
    std::function<Result<std::vector<Workload>>(storage::Txn&)> decide =
        [project, conditions = impl_->ConditionsNow()](storage::Txn& txn) {
          return AdmitIn(txn, project, conditions);
        };
    Result<std::vector<Workload>> one = co_await Commit(impl_->store, false, std::move(decide));
    if (!one) {
      // One project's trouble holds up no other.
      log::Error("the line of a project was not advanced",
                 {{"project", project}, {"error", one.error().message}});
      if (!failed) failed = one.error();
      continue;
    }
    for (const Workload& workload : *one) {
      impl_->held.erase(workload.metadata.uid);
      admitted.push_back(std::make_shared<const Workload>(workload));
    }
  }
  if (failed) co_return Fail(std::move(*failed));
  co_return admitted;
}

async::Task<Result<bool>> Ledger::MarkSent(std::string uid, int32_t attempt, std::string cluster_identity,
                                           std::string namespace_uid) {
  const storage::SentMark mark{std::move(uid),           attempt,           "", std::move(cluster_identity),
                               std::move(namespace_uid), impl_->clock.Now()};
  std::function<Result<bool>(storage::Txn&)> decide = [mark](storage::Txn& txn) { return Mark(txn, mark); };
  Result<bool> first = co_await Commit(impl_->store, false, std::move(decide));
  co_return first;
}

async::Task<Result<void>> Ledger::UpdateStatus(std::string uid,
                                               std::function<void(model::WorkloadStatus&)> update) {
  const WorkloadPtr present = impl_->view.FindByUid(uid);
  if (!present || !Holds(*present)) co_return Result<void>();
  Workload trial = *present;
  update(trial.status);
  if (model::ToJson(trial) == model::ToJson(*present)) co_return Result<void>();
  std::function<Result<bool>(storage::Txn&)> decide = [uid = std::move(uid),
                                                       update = std::move(update)](storage::Txn& txn) {
    return Update(txn, uid, update);
  };
  Result<bool> changed = co_await Commit(impl_->store, false, std::move(decide));
  CO_RETURN_IF_ERROR(changed);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::UpdateProjectStatus(std::string name,
                                                      std::function<void(model::ProjectStatus&)> update) {
  std::function<Result<bool>(storage::Txn&)> decide = [name = std::move(name),
                                                       update = std::move(update)](storage::Txn& txn) {
    return UpdateProject(txn, name, update);
  };
  Result<bool> changed = co_await Commit(impl_->store, false, std::move(decide));
  CO_RETURN_IF_ERROR(changed);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::EndAttempt(std::string uid, int32_t attempt, End end) {
  const WorkloadPtr present = impl_->view.FindByUid(uid);
  std::function<Result<bool>(storage::Txn&)> decide = [uid, attempt, end = std::move(end),
                                                       now = impl_->clock.Now()](storage::Txn& txn) {
    return EndLiving(txn, uid, attempt, end, now);
  };
  Result<bool> ended = co_await Commit(impl_->store, false, std::move(decide));
  CO_RETURN_IF_ERROR(ended);
  if (*ended && present) impl_->FreeHolds(present->metadata.project);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::ClusterRefused(std::string uid, int32_t attempt, model::Reason reason) {
  std::function<Result<bool>(storage::Txn&)> decide = [uid, attempt, reason = std::move(reason),
                                                       now = impl_->clock.Now()](storage::Txn& txn) {
    return Refuse(txn, uid, attempt, reason, now);
  };
  // Before the commit: its event makes others advance the line.
  impl_->Hold(uid);
  Result<bool> refused = co_await Commit(impl_->store, false, std::move(decide));
  CO_RETURN_IF_ERROR(refused);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::Forget(std::string uid) {
  std::function<Result<bool>(storage::Txn&)> decide = [uid = std::move(uid), now = impl_->clock.Now(),
                                                       steady = impl_->SteadyNow()](storage::Txn& txn) {
    return ForgetEnded(txn, uid, now, steady);
  };
  Result<bool> done = co_await Commit(impl_->store, false, std::move(decide));
  CO_RETURN_IF_ERROR(done);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::KeepLog(storage::KeptLog log) {
  std::function<Result<void>(storage::Txn&)> change = [log = std::move(log)](storage::Txn& txn) {
    return txn.PutKeptLog(log);
  };
  Result<void> kept = co_await impl_->store.Write(std::move(change));
  co_return kept;
}

}  // namespace cubeplane::state
