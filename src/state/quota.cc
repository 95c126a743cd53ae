#include "state/quota.h"

#include <algorithm>

#include "json/json.h"
#include "log/log.h"
#include "model/codec.h"
#include "scheduler/pod_resources.h"
#include "state/binding_rows.h"

namespace cubeplane::state {
namespace {

using model::Phase;
using model::Reason;
using storage::ReservationRow;
using storage::ReservationState;

// A broken law ends the write that would break it, loudly; it never reaches the store.
Error LawBroken(const std::string& law, const std::string& what) {
  log::Error("a law is broken; the write was refused", {{"law", law}, {"what", what}});
  return Error(Code::kInternal, "internal_error", {{"request", "law " + law}}, law + ": " + what);
}

Result<void> AddUse(storage::Reader& reader, OpenBinding& open) {
  ASSIGN_OR_RETURN(const auto rows, reader.LiveReservations(open.row.id));
  for (const ReservationRow& row : rows) {
    const model::ResourceList one{{row.resource, row.amount}};
    RETURN_IF_ERROR(scheduler::AddTo(open.view.used, one));
    for (scheduler::PoolView& pool : open.view.pools) {
      if (pool.name == row.pool) RETURN_IF_ERROR(scheduler::AddTo(pool.used, one));
    }
  }
  return {};
}

// The request in the first binding whose limit range lets it in.
Result<scheduler::Request> RequestIn(const std::vector<OpenBinding>& bindings,
                                     const model::Workload& workload) {
  std::optional<Error> refused;
  for (const OpenBinding& open : bindings) {
    if (!workload.spec.cluster.empty() && workload.spec.cluster != open.row.cluster) continue;
    auto request = scheduler::MakeRequest(workload, open.binding.limit_range);
    if (request) return request;
    if (!refused) refused = request.error();
  }
  if (refused) return Fail(*refused);
  return scheduler::MakeRequest(workload, {});
}

// Law 1, on the rows as they are now: no limited key that this attempt takes part in is beyond its limit.
Result<void> AssertNoOversell(storage::Reader& reader, const OpenBinding& open,
                              const scheduler::Request& request, const std::string& pool) {
  OpenBinding fresh{open.row, open.binding, open.view};
  fresh.view.used.clear();
  for (scheduler::PoolView& each : fresh.view.pools) each.used.clear();
  RETURN_IF_ERROR(AddUse(reader, fresh));
  auto check = [&](const model::ResourceList& limits, model::ResourceList& used,
                   const std::string& where) -> Result<void> {
    for (const auto& [key, limit] : limits) {
      const auto asked = request.usage.find(key);
      if (asked == request.usage.end() || asked->second.IsZero() || used[key] <= limit) continue;
      return Fail(LawBroken("no oversell", where + ": " + key + " reserved " + used[key].ToString() + " of " +
                                               limit.ToString()));
    }
    return {};
  };
  RETURN_IF_ERROR(check(fresh.view.quota, fresh.view.used, open.row.id));
  for (scheduler::PoolView& each : fresh.view.pools) {
    if (each.name == pool) RETURN_IF_ERROR(check(each.limits, each.used, open.row.id + " pool " + pool));
  }
  return {};
}

// Law 2: the attempt before has ended with proof and holds nothing.
Result<void> AssertLastEnded(storage::Reader& reader, const model::Workload& workload) {
  if (!workload.status.attempts.empty() && !workload.status.attempts.back().ended)
    return Fail(LawBroken(
        "nothing runs twice",
        NameOf(workload) + ": attempt " + std::to_string(LastAttempt(workload)) + " has not ended"));
  ASSIGN_OR_RETURN(const auto rows, reader.ReservationsOf(workload.metadata.uid));
  for (const ReservationRow& row : rows) {
    if (row.state != ReservationState::kReleased)
      return Fail(LawBroken(
          "nothing runs twice",
          NameOf(workload) + ": attempt " + std::to_string(row.attempt) + " still holds " + row.resource));
  }
  return {};
}

void BeginAttempt(model::Workload& workload, const std::string& cluster, const std::string& pool,
                  int32_t number, Time now) {
  model::WorkloadStatus& status = workload.status;
  model::AttemptStatus attempt;
  attempt.number = number;
  attempt.cluster = cluster;
  attempt.pool = pool;
  attempt.admitted = now;
  status.attempts.push_back(std::move(attempt));
  if (status.attempts.size() > model::kMaxAttempts) status.attempts.erase(status.attempts.begin());
  status.phase = Phase::kAdmitted;
  status.reason = {};
  status.details.clear();
  status.place = 0;
  status.admitted = now;
  status.sent = status.started = status.ended = status.waiting_since = std::nullopt;
  status.address.clear();
  status.result.clear();
}

Result<void> Admit(storage::Txn& txn, Line& line, WorkloadRecord& record, const scheduler::Request& request,
                   const scheduler::QueueStep& step, Time now) {
  const auto open = std::find_if(line.bindings.begin(), line.bindings.end(),
                                 [&](const OpenBinding& each) { return each.row.cluster == step.cluster; });
  if (open == line.bindings.end())
    return Fail(Code::kInternal, "admitted to unknown cluster " + step.cluster);
  model::Workload& workload = record.workload;
  RETURN_IF_ERROR(AssertLastEnded(txn, workload));
  const int32_t number = LastAttempt(workload) + 1;
  std::vector<ReservationRow> rows;
  for (const auto& [resource, amount] : request.usage) {
    if (amount.IsNegative())
      return Fail(LawBroken("no oversell", resource + " " + amount.ToString() + " is asked for"));
    rows.push_back({workload.metadata.uid, number, open->row.id, step.pool, resource, amount,
                    ReservationState::kReserved});
  }
  RETURN_IF_ERROR(txn.Reserve(rows));
  RETURN_IF_ERROR(AssertNoOversell(txn, *open, request, step.pool));
  BeginAttempt(workload, step.cluster, step.pool, number, now);
  record.row.binding_id = open->row.id;
  return SaveWorkload(txn, record);
}

// What is shown of somebody who waits: the first rule that refuses him, then the others and his place.
void ShowWaiting(model::WorkloadStatus& status, const scheduler::QueueStep& step,
                 const Conditions& conditions, const std::optional<Reason>& held) {
  status.place = step.place;
  std::vector<Reason> reasons(step.reasons.begin(), step.reasons.end());
  if (reasons.size() > 1) std::rotate(reasons.begin(), reasons.begin() + 1, reasons.end());
  if (held) reasons.insert(reasons.begin(), *held);
  if (status.waiting_since && conditions.now - *status.waiting_since >= conditions.long_wait) {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(conditions.long_wait).count();
    reasons.push_back({"waits_long", {{"minutes", std::to_string(minutes)}}});
  }
  if (reasons.empty()) return;
  status.reason = reasons.front();
  status.details.assign(reasons.begin() + 1, reasons.end());
}

}  // namespace

Result<std::vector<OpenBinding>> OpenBindings(storage::Reader& reader, const std::string& project,
                                              const NodeSizes& nodes) {
  ASSIGN_OR_RETURN(const auto rows, reader.Bindings(project));
  std::vector<OpenBinding> bindings;
  for (const storage::BindingRow& row : rows) {
    OpenBinding open;
    open.row = row;
    ASSIGN_OR_RETURN(open.binding, ParseBinding(row));
    open.view = {.project = project,
                 .cluster = row.cluster,
                 .quota_name = "quota-" + project,
                 .quota = open.binding.quota};
    for (const model::PoolQuota& pool : open.binding.pools)
      open.view.pools.push_back({pool.name, pool.limits, {}, {}});
    if (const auto known = nodes.find(row.cluster); known != nodes.end())
      open.view.node_allocatable = known->second;
    RETURN_IF_ERROR(AddUse(reader, open));
    bindings.push_back(std::move(open));
  }
  return bindings;
}

Result<Line> OpenLine(storage::Reader& reader, const std::string& project, const Conditions& conditions,
                      Whom whom) {
  Line line;
  ASSIGN_OR_RETURN(line.bindings, OpenBindings(reader, project, conditions.nodes));
  line.queue.project = project;
  for (const OpenBinding& open : line.bindings) line.queue.bindings.push_back(open.view);
  if (whom == Whom::kNobody) return line;
  ASSIGN_OR_RETURN(const auto rows, reader.WorkloadsInPhase(model::PhaseName(Phase::kWaiting), project));
  for (const storage::WorkloadRow& row : rows) {
    if (whom == Whom::kNotebooks && row.kind != model::KindName(model::WorkloadKind::kNotebook)) continue;
    ASSIGN_OR_RETURN(auto record, ReadWorkload(reader, row.uid));
    if (!record) return Fail(Code::kInternal, "workload " + row.uid + " waits, but has no object");
    RETURN_IF_ERROR(JoinLine(line, std::move(*record), conditions));
  }
  return line;
}

Result<void> JoinLine(Line& line, WorkloadRecord record, const Conditions& conditions) {
  const model::Workload& workload = record.workload;
  scheduler::Waiting waiting;
  waiting.uid = workload.metadata.uid;
  auto request = RequestIn(line.bindings, workload);
  if (!request && request.error().code == Code::kForbidden) {
    // It was accepted before the limit range was; it keeps its place and says so, and the line goes on being
    // decided.
    line.barred[waiting.uid] = {"limit_range_refused", {{"message", request.error().message}}};
    request = scheduler::MakeRequest(workload, {});
  }
  ASSIGN_OR_RETURN(waiting.request, std::move(request));
  waiting.notebook = workload.kind == model::WorkloadKind::kNotebook;
  waiting.cluster = workload.spec.cluster;
  waiting.held = conditions.held.contains(waiting.uid) || line.barred.contains(waiting.uid);
  line.queue.waiting.push_back(std::move(waiting));
  line.waiting.push_back(std::move(record));
  return {};
}

Result<std::vector<model::Workload>> AdvanceLine(storage::Txn& txn, Line& line,
                                                 const Conditions& conditions) {
  const std::vector<scheduler::QueueStep> steps = scheduler::PlanAdmissions(line.queue);
  std::vector<model::Workload> admitted;
  for (size_t i = 0; i < steps.size(); ++i) {
    WorkloadRecord& record = line.waiting[i];
    const scheduler::Waiting& waiting = line.queue.waiting[i];
    if (steps[i].admitted) {
      RETURN_IF_ERROR(Admit(txn, line, record, waiting.request, steps[i], conditions.now));
      admitted.push_back(record.workload);
      continue;
    }
    model::WorkloadStatus& status = record.workload.status;
    const auto before = std::tuple(status.place, status.reason, status.details);
    std::optional<Reason> held;
    if (const auto barred = line.barred.find(waiting.uid); barred != line.barred.end()) {
      held = barred->second;
    } else if (waiting.held) {
      held = status.reason;  // the cluster's own word stays until it is tried again
    }
    ShowWaiting(status, steps[i], conditions, held);
    if (before == std::tuple(status.place, status.reason, status.details)) continue;
    RETURN_IF_ERROR(SaveWorkload(txn, record));
  }
  return admitted;
}

Result<void> CheckEverFits(const Line& line, const model::Workload& workload) {
  ASSIGN_OR_RETURN(const scheduler::Request request, RequestIn(line.bindings, workload));
  std::optional<Error> never;
  for (const OpenBinding& open : line.bindings) {
    if (!workload.spec.cluster.empty() && workload.spec.cluster != open.row.cluster) continue;
    const scheduler::Verdict verdict = scheduler::Decide(open.view, {}, request);
    if (verdict.admitted || !verdict.never()) return {};
    if (!never) never = scheduler::RefusalOf(open.view, verdict);
  }
  if (never) return Fail(*never);
  const std::string& project = workload.metadata.project;
  if (workload.spec.cluster.empty())
    return Fail(Error(Code::kInvalid, "no_bindings", {{"project", project}},
                      "project " + project + " is bound to no cluster"));
  return Fail(Error(Code::kInvalid, "no_binding", {{"project", project}, {"cluster", workload.spec.cluster}},
                    "project " + project + " is not bound to cluster " + workload.spec.cluster));
}

Error RefusalOfLast(const Line& line) {
  const scheduler::Waiting& last = line.queue.waiting.back();
  scheduler::ProjectQueue before = line.queue;
  before.waiting.pop_back();
  for (const scheduler::BindingView& view : line.queue.bindings) {
    if (!last.cluster.empty() && last.cluster != view.cluster) continue;
    const auto ahead = scheduler::AheadOf(before, view, last);
    const scheduler::Verdict verdict = scheduler::Decide(view, ahead, last.request);
    if (!verdict.admitted) return scheduler::RefusalOf(view, verdict);
  }
  // It would fit, and only those ahead of it do not.
  return Error(Code::kQuotaExceeded, "waits_in_line",
               {{"place", std::to_string(line.queue.waiting.size())},
                {"project", line.queue.project},
                {"ahead", std::to_string(before.waiting.size())}},
               "others wait ahead of it in project " + line.queue.project);
}

Result<int> ReleaseAttempt(storage::Txn& txn, WorkloadRecord& record, int32_t attempt) {
  record.row.binding_id.clear();
  return txn.SetReservationState(record.workload.metadata.uid, attempt, ReservationState::kReleased);
}

}  // namespace cubeplane::state
