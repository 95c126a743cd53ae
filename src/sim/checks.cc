#include "sim/checks.h"

#include "controller/names.h"
#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::sim {
namespace {

// "job-3-9f3a1c-a2" and "nb-1-9f3a1c-0" -> "job-3-9f3a1c", "nb-1-9f3a1c".
std::string BaseOfPod(const std::string& pod) { return pod.substr(0, pod.rfind('-')); }

bool IsTrainingPod(const std::string& pod) { return pod.substr(pod.rfind('-') + 1).starts_with('a'); }

}  // namespace

void Checks::Violated(std::string text) {
  // Each kind of violation once is enough to know where to look.
  if (violations_.size() < kMaxViolations && said_.insert(text).second)
    violations_.push_back(std::move(text));
}

void Checks::Accepted(const model::Workload& workload) {
  accepted_[workload.metadata.uid] = workload.metadata.project + "/" + workload.metadata.name;
}

Result<void> Checks::Moment(storage::Reader& reader) {
  RETURN_IF_ERROR(NoOversell(reader));
  RETURN_IF_ERROR(NothingLost(reader));
  RETURN_IF_ERROR(CoveredWork(reader));
  NothingTwice();
  return {};
}

Result<void> Checks::NoOversell(storage::Reader& reader) {
  ASSIGN_OR_RETURN(const auto bindings, reader.Bindings(""));
  for (const storage::BindingRow& row : bindings) {
    ASSIGN_OR_RETURN(const auto project_row, reader.GetObject("Project", "", row.project));
    if (!project_row) continue;
    ASSIGN_OR_RETURN(const json::Value project_json, json::Parse(project_row->json));
    ASSIGN_OR_RETURN(const model::Project project, model::ProjectFromStore(project_json));
    std::map<std::string, Quantity> hard, used;
    for (const model::Binding& binding : project.spec.bindings) {
      if (binding.cluster == row.cluster) hard = {binding.quota.begin(), binding.quota.end()};
    }
    ASSIGN_OR_RETURN(const auto reservations, reader.LiveReservations(row.id));
    for (const storage::ReservationRow& reservation : reservations) {
      ASSIGN_OR_RETURN(used[reservation.resource],
                       Quantity::Sum(used[reservation.resource], reservation.amount));
    }
    for (const auto& [resource, amount] : used) {
      const auto limit = hard.find(resource);
      if (limit == hard.end() || amount <= limit->second) continue;
      // Above the limit: right only when the quota was shrunk and the use has not grown since.
      const Quantity before = last_used_[row.id][resource];
      const auto old_limit = last_hard_[row.id].find(resource);
      const bool was_allowed = old_limit != last_hard_[row.id].end() && amount <= old_limit->second;
      if (amount > before && !was_allowed) {
        Violated("law 1: " + row.project + " uses " + amount.ToString() + " of " + resource + ", limited " +
                 limit->second.ToString());
      }
    }
    last_used_[row.id] = std::move(used);
    last_hard_[row.id] = std::move(hard);
  }
  return {};
}

Result<void> Checks::NothingLost(storage::Reader& reader) {
  for (const auto& [uid, name] : accepted_) {
    ASSIGN_OR_RETURN(const auto row, reader.GetObjectByUid(uid));
    if (!row) Violated("law 2: accepted " + name + " is lost");
  }
  return {};
}

Result<void> Checks::CoveredWork(storage::Reader& reader) {
  ASSIGN_OR_RETURN(const auto objects, reader.ListObjects("", "", 100'000, ""));
  for (const storage::ObjectRow& row : objects) {
    if (row.kind == "Project") continue;
    model::Workload named;
    named.metadata.name = row.name;
    named.metadata.uid = row.uid;
    uid_of_base_[row.project + "/" + controller::BaseName(named)] = row.uid;
  }
  ASSIGN_OR_RETURN(const auto reservations, reader.LiveReservations(""));
  std::set<std::string> covered;
  for (const storage::ReservationRow& reservation : reservations) covered.insert(reservation.workload_uid);
  std::set<std::string> running;
  for (const std::string& uid : runtime_.running()) running.insert(uid);
  for (const engine::FakeRuntime::Run& run : runtime_.runs()) {
    if (run.ended || !running.contains(run.uid)) continue;
    const auto known = uid_of_base_.find(run.namespace_name.substr(5) + "/" + BaseOfPod(run.name));
    if (known == uid_of_base_.end()) {
      Violated("law 2: " + run.name + " runs and was never accepted");
    } else if (!covered.contains(known->second)) {
      Violated("law 1: " + run.name + " runs without a reservation");
    }
  }
  return {};
}

void Checks::NothingTwice() {
  std::map<std::string, const engine::FakeRuntime::Run*> last_of_base;
  std::set<std::string> attempts;
  for (const engine::FakeRuntime::Run& run : runtime_.runs()) {
    const std::string name = run.namespace_name + "/" + run.name;
    if (IsTrainingPod(run.name) && !attempts.insert(name).second)
      Violated("law 2: attempt " + name + " ran twice");
    const engine::FakeRuntime::Run*& last = last_of_base[run.namespace_name + "/" + BaseOfPod(run.name)];
    if (last && (!last->ended || *last->ended > run.started)) {
      Violated("law 2: " + name + " started while " + last->name + " of the same workload ran");
    }
    last = &run;
  }
}

Result<void> Checks::End(storage::Reader& reader) {
  ASSIGN_OR_RETURN(const auto reservations, reader.LiveReservations(""));
  for (const storage::ReservationRow& row : reservations) {
    Violated("left over: a reservation of " + row.resource + " for " + row.workload_uid + " attempt " +
             std::to_string(row.attempt));
  }
  for (const std::string& uid : runtime_.running()) Violated("left over: pod " + uid + " runs");
  ASSIGN_OR_RETURN(const auto objects, reader.ListObjects("", "", 100'000, ""));
  for (const storage::ObjectRow& row : objects) {
    if (row.kind == "Project") continue;
    ASSIGN_OR_RETURN(const json::Value value, json::Parse(row.json));
    ASSIGN_OR_RETURN(const model::Workload workload, model::WorkloadFromStore(value));
    if (!model::IsTerminal(workload.status.phase)) {
      Violated("left over: " + row.name + " is still " +
               std::string(model::PhaseName(workload.status.phase)) + " (" + workload.status.reason.code +
               ")");
    }
    if (workload.metadata.deleted) Violated("left over: " + row.name + " was deleted and is still there");
  }
  return {};
}

}  // namespace cubeplane::sim
