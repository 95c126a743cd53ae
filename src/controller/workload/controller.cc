#include "controller/workload/controller.h"

#include <strings.h>

#include "controller/names.h"
#include "log/log.h"
#include "model/labels.h"

namespace cubeplane::controller::workload {
namespace {

using model::Phase;

// While a create whose answer was lost may still land.
constexpr Duration kLookAgain = std::chrono::seconds(1);

json::Value Copy(const kube::Informer::Pointer& object) { return object ? *object : json::Value(); }

}  // namespace

Controller::Controller(Parts parts)
    : parts_(std::move(parts)),
      logs_(parts_.cluster.client(), parts_.log_folder, parts_.executor, parts_.pool),
      loop_("workload", parts_.executor, parts_.random,
            [this](std::string uid) { return Reconcile(std::move(uid)); }) {}

Controller::~Controller() {
  if (listener_ != 0) parts_.ledger.RemoveListener(listener_);
}

void Controller::Start() {
  listener_ = parts_.ledger.OnChange([this](const state::WatchEvent& event) {
    if (event.kind != "Project") {
      loop_.Mark(event.uid);
      return;
    }
    // A project that has become ready lets its admitted workloads go.
    for (const state::WorkloadPtr& workload : parts_.ledger.Workloads(event.name)) {
      if (workload->status.phase == Phase::kAdmitted) loop_.Mark(workload->metadata.uid);
    }
  });
  auto mark = [this](const std::string& name_space, const std::string& name) { MarkPod(name_space, name); };
  parts_.cluster.pods().OnChange(mark);
  parts_.cluster.stateful_sets().OnChange([this](const std::string& name_space, const std::string& name) {
    if (const auto set = parts_.cluster.stateful_sets().Get(name_space, name)) {
      loop_.Mark((*set)["metadata"]["labels"][kLabelWorkload].AsString());
    }
  });
  for (const state::WorkloadPtr& workload : parts_.ledger.Workloads()) loop_.Mark(workload->metadata.uid);
  loop_.Start(8);
  logs_.SweepHourly(parts_.clock, parts_.log_retention);
}

async::Task<void> Controller::Stop() {
  co_await loop_.Stop();
  co_await logs_.Stop();
}

void Controller::MarkPod(const std::string& name_space, const std::string& name) {
  const std::pair key(name_space, name);
  const auto pod = parts_.cluster.pods().Get(name_space, name);
  if (pod && (*pod)["metadata"]["labels"][kLabelInstance].AsString() == parts_.instance) {
    uid_of_pod_[key] = (*pod)["metadata"]["labels"][kLabelWorkload].AsString();
  }
  const auto uid = uid_of_pod_.find(key);
  if (uid == uid_of_pod_.end()) return;
  loop_.Mark(uid->second);
  if (!pod) uid_of_pod_.erase(uid);
}

Seen Controller::Observe(const model::Workload& workload) const {
  Cluster& cluster = parts_.cluster;
  const std::string name_space = NamespaceOf(workload.metadata.project);
  Seen seen;
  seen.caches_complete = cluster.Synced();
  if (const state::ProjectPtr project = parts_.ledger.FindProject(workload.metadata.project)) {
    for (const model::Condition& condition : project->status.conditions) {
      if (condition.type == "Ready") seen.project_ready = condition.status;
    }
  }
  seen.pod = Copy(cluster.pods().Get(name_space, PodName(workload)));
  if (!IsOurs(seen.pod, workload.metadata.uid)) seen.pod = {};
  seen.stateful_set = Copy(cluster.stateful_sets().Get(name_space, BaseName(workload)));
  if (!IsOurs(seen.stateful_set, workload.metadata.uid)) seen.stateful_set = {};
  return seen;
}

// A pool is named after its card; nodes may spell that in another case.
std::string Controller::AsNodesSpell(const std::string& pool) const {
  for (const kube::Informer::Pointer& node : parts_.cluster.nodes().List()) {
    const std::string& label = (*node)["metadata"]["labels"][model::Labels().gpu_model].AsString();
    if (strcasecmp(label.c_str(), pool.c_str()) == 0) return label;
  }
  return pool;
}

ObjectSettings Controller::SettingsFor(const model::Workload& workload) const {
  ObjectSettings settings;
  settings.instance = parts_.instance;
  if (const state::ProjectPtr project = parts_.ledger.FindProject(workload.metadata.project)) {
    for (const model::Binding& binding : project->spec.bindings) {
      if (binding.cluster == parts_.cluster.name()) settings.resource_group = binding.resource_group;
    }
  }
  if (!workload.status.attempts.empty() && !workload.status.attempts.back().pool.empty()) {
    settings.pool_selector.Set(model::Labels().gpu_model, AsNodesSpell(workload.status.attempts.back().pool));
  }
  if (workload.kind == model::WorkloadKind::kNotebook) {
    settings.origin = parts_.entry.OriginOf(
        state::HostOf(workload.metadata.name, workload.metadata.project, parts_.domain));
    settings.door_secret = parts_.door_key.SecretOf(workload.metadata.uid);
  }
  return settings;
}

async::Task<Outcome> Controller::Reconcile(std::string uid) {
  const state::WorkloadPtr workload = parts_.ledger.FindByUid(uid);
  if (!workload) {
    Result<void> stopped = co_await StopStrangers(uid);
    co_return Outcome{std::move(stopped), {}};
  }
  Seen seen = Observe(*workload);
  if (!seen.caches_complete) co_return Outcome{{}, std::chrono::milliseconds(200)};
  Plan plan = parts_.decide(*workload, seen, parts_.clock.Now());
  if (plan.steps == std::vector{Step::kLook}) {
    Result<void> looked = co_await Look(workload, seen);
    if (!looked) co_return Outcome{std::move(looked), {}};
    if (seen.pod.IsNull() && !seen.absence_confirmed) co_return Outcome{{}, kLookAgain};
    plan = parts_.decide(*workload, seen, parts_.clock.Now());
  }
  for (const Step step : plan.steps) {
    Result<void> done = co_await Apply(workload, step, plan);
    if (!done) co_return Outcome{std::move(done), {}};
  }
  co_return Outcome{{}, plan.again};
}

async::Task<Result<void>> Controller::Apply(state::WorkloadPtr workload, Step step, Plan plan) {
  Result<void> done;
  switch (step) {
    case Step::kSend:
      done = co_await Send(workload);
      break;
    case Step::kScaleUp:
      done = co_await ScaleUp(workload);
      break;
    case Step::kSetStatus:
      done = co_await SetStatus(workload, plan.status);
      break;
    case Step::kStopPod:
      done = co_await StopPod(workload);
      break;
    case Step::kScaleDown:
      done = co_await ScaleDown(workload);
      break;
    case Step::kKeepLog:
      done = co_await KeepLog(workload);
      break;
    case Step::kEnd:
      done = co_await End(workload, plan.end);
      break;
    case Step::kRemovePod:
      done = co_await RemovePod(workload);
      break;
    case Step::kCleanUp:
      done = co_await CleanUp(workload);
      break;
    case Step::kForget:
      done = co_await parts_.ledger.Forget(workload->metadata.uid);
      break;
    case Step::kLook:
      break;  // done before, in Reconcile
  }
  co_return done;
}

// ---- Watching, stopping, ending

async::Task<Result<json::Value>> Controller::FindPod(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  Result<json::Value> pod = co_await parts_.cluster.client().Get(kube::kPods, name_space, PodName(*workload));
  if (!pod && pod.error().code == Code::kNotFound) co_return json::Value();
  CO_RETURN_IF_ERROR(pod);
  if (!IsOurs(*pod, workload->metadata.uid)) co_return json::Value();
  co_return std::move(*pod);
}

// Replaces what the caches say by what the API server says. The StatefulSet first: a pod of it that is missed
// then comes later.
async::Task<Result<void>> Controller::Look(state::WorkloadPtr workload, Seen& seen) {
  if (workload->kind == model::WorkloadKind::kNotebook) {
    Result<json::Value> set = co_await parts_.cluster.client().Get(
        kube::kStatefulSets, NamespaceOf(workload->metadata.project), BaseName(*workload));
    if (!set && set.error().code != Code::kNotFound) co_return Fail(set.error());
    seen.stateful_set = set && IsOurs(*set, workload->metadata.uid) ? std::move(*set) : json::Value();
  }
  Result<json::Value> pod = co_await FindPod(workload);
  CO_RETURN_IF_ERROR(pod);
  seen.pod = std::move(*pod);
  seen.looked = true;
  seen.absence_confirmed = seen.pod.IsNull() && !MayStillAppear(*workload);
  co_return Result<void>();
}

// A create whose answer was lost may land until the server's own time-out. Counted from the first look in
// vain; a pod that was seen once cannot come a second time.
bool Controller::MayStillAppear(const model::Workload& workload) {
  const std::string key = workload.metadata.uid + "/" + std::to_string(CurrentAttempt(workload));
  const bool was_seen = !workload.status.attempts.empty() && !workload.status.attempts.back().pod_uid.empty();
  const Mono now = parts_.clock.MonoNow();
  const Mono since = looked_for_.emplace(key, now).first->second;
  if (!was_seen && now - since < parts_.cluster.late_create()) return true;
  looked_for_.erase(key);
  return false;
}

async::Task<Result<void>> Controller::SetStatus(state::WorkloadPtr workload, StatusPatch patch) {
  const std::string address =
      workload->kind == model::WorkloadKind::kNotebook && patch.phase == Phase::kRunning
          ? SettingsFor(*workload).origin
          : std::string();
  const Time now = parts_.clock.Now();
  auto update = [patch, address, now, cluster = parts_.cluster.name()](model::WorkloadStatus& status) {
    // A stop that came meanwhile is not undone by what was seen before it.
    if (status.phase == Phase::kStopping && patch.phase != Phase::kStopping) return;
    status.phase = patch.phase;
    status.reason = patch.reason;
    status.details.clear();
    status.restarts = patch.restarts;
    status.address = address;
    if (!status.sent) status.sent = now;
    if (patch.phase == Phase::kRunning && !status.started) status.started = patch.started.value_or(now);
    if (status.attempts.empty()) status.attempts.push_back({});
    model::AttemptStatus& attempt = status.attempts.back();
    attempt.cluster = cluster;
    attempt.pod = patch.pod;
    if (!patch.node.empty()) attempt.node = patch.node;
    if (!patch.pod_uid.empty()) {
      attempt.pod_uid = patch.pod_uid;
      attempt.pod_restarts = patch.pod_restarts;
    }
    if (!attempt.sent) attempt.sent = now;
    if (patch.started && !attempt.started) attempt.started = patch.started;
  };
  Result<void> done = co_await parts_.ledger.UpdateStatus(workload->metadata.uid, std::move(update));
  co_return done;
}

async::Task<Result<void>> Controller::StopPod(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  const std::string pod = PodName(*workload);
  // The log is followed from before the end: once deleted, the pod takes its log along.
  logs_.Follow(name_space, pod, logs_.PathOf(workload->metadata.uid, CurrentAttempt(*workload)));
  Result<json::Value> deleted = co_await parts_.cluster.client().Delete(kube::kPods, name_space, pod);
  if (!deleted && deleted.error().code != Code::kNotFound)
    co_return Fail(deleted.error().Wrap("stopping pod " + pod));
  co_return Result<void>();
}

async::Task<Result<void>> Controller::RemovePod(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  kube::DeleteOptions options;
  options.grace_seconds = 0;
  Result<json::Value> deleted = co_await parts_.cluster.client().Delete(
      kube::kPods, name_space, PodName(*workload), std::move(options));
  if (!deleted && deleted.error().code != Code::kNotFound)
    co_return Fail(deleted.error().Wrap("removing an ended pod"));
  co_return Result<void>();
}

async::Task<Result<void>> Controller::KeepLog(state::WorkloadPtr workload) {
  const std::string path = logs_.PathOf(workload->metadata.uid, CurrentAttempt(*workload));
  if (logs_.IsFollowing(path)) co_return Result<void>();
  Result<void> kept = co_await logs_.Keep(NamespaceOf(workload->metadata.project), PodName(*workload), path);
  if (!kept) {
    log::Warn("a log was not kept", {{"workload", workload->metadata.project + "/" + workload->metadata.name},
                                     {"error", kept.error().message}});
  }
  co_return Result<void>();
}

async::Task<Result<void>> Controller::End(state::WorkloadPtr workload, EndDecision decision) {
  const std::string& uid = workload->metadata.uid;
  const int32_t attempt = CurrentAttempt(*workload);
  if (workload->kind == model::WorkloadKind::kTrainingJob) {
    storage::KeptLog kept{.workload_uid = uid,
                          .attempt = attempt,
                          .path = logs_.PathOf(uid, attempt),
                          .ended = parts_.clock.Now()};
    Result<void> known = co_await parts_.ledger.KeepLog(std::move(kept));
    CO_RETURN_IF_ERROR(known);
  }
  state::Ledger::End end{.phase = decision.phase,
                         .reason = std::move(decision.reason),
                         .proof = std::move(decision.proof),
                         .exit_code = decision.exit_code,
                         .result = std::move(decision.result),
                         .at = parts_.clock.Now(),
                         .retry = decision.retry,
                         .never_began = decision.never_began};
  Result<void> done = co_await parts_.ledger.EndAttempt(uid, attempt, std::move(end));
  co_return done;
}

async::Task<Result<void>> Controller::StopStrangers(std::string uid) {
  if (!parts_.cluster.Synced() || uid.empty()) co_return Result<void>();
  for (const kube::Informer::Pointer& pod : parts_.cluster.pods().List()) {
    const json::Value& metadata = (*pod)["metadata"];
    if (!IsOurs(*pod, uid) || metadata["labels"][kLabelInstance].AsString() != parts_.instance) continue;
    if (metadata.Contains("deletionTimestamp")) continue;
    log::Warn(
        "stopping a pod of ours that the ledger does not know",
        {{"pod", metadata["namespace"].AsString() + "/" + metadata["name"].AsString()}, {"workload", uid}});
    kube::DeleteOptions options;
    options.uid = metadata["uid"].AsString();
    Result<json::Value> deleted = co_await parts_.cluster.client().Delete(
        kube::kPods, metadata["namespace"].AsString(), metadata["name"].AsString(), std::move(options));
    if (!deleted && deleted.error().code != Code::kNotFound)
      co_return Fail(deleted.error().Wrap("stopping a stranger"));
  }
  co_return Result<void>();
}

}  // namespace cubeplane::controller::workload
