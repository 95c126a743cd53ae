#include "engine/kubelet.h"

#include <algorithm>
#include <utility>

#include "async/backoff.h"
#include "async/sync.h"
#include "engine/pod_run.h"
#include "engine/pod_status.h"
#include "log/log.h"

namespace cubeplane::engine {
namespace {

bool HasRun(const json::Value& pod) {
  const json::Value& status = pod["status"].At("containerStatuses.0");
  return status["state"].Contains("running") || status["restartCount"].AsInt() > 0;
}

}  // namespace

Kubelet::Kubelet(const Cluster& cluster, Recorder& recorder, Runtime& runtime, Host host,
                 const std::map<std::string, DeviceKind>& devices)
    : cluster_(cluster), recorder_(recorder), runtime_(runtime), host_(std::move(host)), devices_(devices) {}

void Kubelet::Connect() { host_.tasks.Spawn(ConnectTask()); }

async::Task<void> Kubelet::ConnectTask() {
  runtime_.OnChange([this, alive = std::weak_ptr<bool>(alive_)](const PodState& state) {
    if (!alive.expired()) OnState(state);
  });
  async::Backoff backoff(kRuntimeRetryMin, kRuntimeRetryMax, cluster_.random);
  const std::stop_token stop = host_.tasks.token();
  for (;;) {
    Result<std::vector<PodState>> states = co_await runtime_.List();
    if (states) {
      for (const PodState& state : *states) OnState(state);
      break;
    }
    log::Warn("engine: the pod runtime does not answer", {{"error", states.error().message}});
    const Duration wait = backoff.Next();
    const bool slept = co_await async::Sleep(host_.executor, wait, stop);
    if (!slept) co_return;
  }
  connected_ = true;
  for (const auto& [uid, entry] : entries_) {
    if (!cluster_.store.KeyOfUid(uid)) host_.tasks.Spawn(RemoveOrphan(uid));
  }
  for (const ObjectPtr& pod : cluster_.store.List("pods"))
    marked_.insert(KeyOf(*FindKindByResource("pods"), *pod));
  host_.wake();
}

void Kubelet::OnState(const PodState& state) {
  const auto key = cluster_.store.KeyOfUid(state.uid);
  if (!key && connected_) return;  // an orphan's last words
  entries_[state.uid].state = state;
  if (!key) return;
  marked_.insert(*key);
  host_.wake();
}

void Kubelet::Observe(const Change& change) {
  if (change.key.resource == "pods") marked_.insert(change.key);
  // A project's data folder is made with its namespace, so that people find it before the first pod.
  if (change.key.resource == "namespaces" && change.type != Change::Type::kDeleted &&
      !AnnotationOf(*change.object, kDataId).empty() && AnnotationOf(*change.object, kDataFolder).empty()) {
    folders_.insert(change.key.name);
  }
}

void Kubelet::Reconcile() {
  if (!connected_) return;
  for (const std::string& space : std::exchange(folders_, {})) host_.tasks.Spawn(EnsureFolder(space));
  for (const ObjectKey& key : std::exchange(marked_, {})) Sync(key);
}

void Kubelet::Sync(const ObjectKey& key) {
  const ObjectPtr pod = cluster_.store.Get(key);
  if (!pod || (*pod)["spec"]["nodeName"].AsString() != cluster_.node_name) return;
  const std::string uid = UidOf(*pod);
  Entry& entry = entries_[uid];
  if (entry.busy) return;                                           // the call's end marks it again
  if (host_.executor.clock().MonoNow() < entry.not_before) return;  // WakeAt marks it again
  if (IsDeleting(*pod)) return SyncDeleting(key, *pod, entry);
  if (IsTerminalPhase(PhaseOf(*pod)) || entry.refused) return;
  if (entry.state) return TellState(key, *pod, *entry.state);
  if (HasRun(*pod)) {
    // It ran, and the runtime, which forgets nothing by itself, does not know it: its folder was taken away.
    // It must not run a second time (law 2).
    PodState lost{.uid = uid, .phase = PodPhase::kLost};
    lost.message = "The pod runtime does not know it any more.";
    return TellState(key, *pod, lost);
  }
  entry.busy = true;
  host_.tasks.Spawn(StartPod(key, uid));
}

void Kubelet::SyncDeleting(const ObjectKey& key, const json::Value& pod, Entry& entry) {
  const std::string uid = UidOf(pod);
  const bool over =
      !entry.state || entry.state->phase == PodPhase::kExited || entry.state->phase == PodPhase::kLost;
  if (!over) {
    const int64_t grace = pod["metadata"]["deletionGracePeriodSeconds"].AsInt();
    if (entry.stop_grace && *entry.stop_grace <= grace) {
      TellState(key, pod, *entry.state);
      return;
    }
    entry.busy = true;
    host_.tasks.Spawn(StopPod(key, uid, grace));
    return;
  }
  // Asked even when nothing is known of it: a Start may have reached the runtime before we were killed.
  if (!pod["metadata"]["finalizers"].AsArray().empty()) {
    if (entry.state) TellState(key, pod, *entry.state);
    return;
  }
  entry.busy = true;
  host_.tasks.Spawn(RemovePod(key, uid));
}

void Kubelet::TellState(const ObjectKey& key, const json::Value& pod, const PodState& state) {
  if (IsTerminalPhase(PhaseOf(pod))) return;
  const std::string now = cluster_.Now();
  const auto written =
      cluster_.ModifyIfUid(key, state.uid, [&](json::Value& object) { WritePodStatus(object, state, now); });
  if (!written) return;
  const json::Value& before = pod["status"].At("containerStatuses.0");
  const json::Value& after = (**written)["status"].At("containerStatuses.0");
  const std::string& name = after["name"].AsString();
  if (after["state"].Contains("running") && !before["state"].Contains("running")) {
    RecordPod(**written, "Normal", "Started", "Started container " + name);
  }
  if (after["restartCount"].AsInt() > before["restartCount"].AsInt()) {
    RecordPod(**written, "Warning", "BackOff",
              "Back-off restarting failed container " + name + " in pod " + key.name);
  }
  if (state.phase == PodPhase::kLost) {
    RecordPod(**written, "Warning", "NodeLost", (**written)["status"]["message"].AsString());
  }
}

async::Task<Result<Tenant>> Kubelet::TenantOf(std::string space) {
  const ObjectPtr object = cluster_.store.Get({"namespaces", "", space});
  if (!object) co_return Fail(Code::kUnavailable, "namespace " + space + " is gone");
  std::string id = AnnotationOf(*object, kDataId);
  if (id.empty()) id = UidOf(*object);
  const std::string uid = UidOf(*object);
  Result<Tenant> tenant = co_await runtime_.EnsureTenant(id);
  if (tenant) {
    (void)cluster_.ModifyIfUid({"namespaces", "", space}, uid, [&](json::Value& present) {
      SetAnnotation(present, kDataFolder, tenant->data_folder);
      SetAnnotation(present, kTenantUid, std::to_string(tenant->uid));
    });
  }
  co_return tenant;
}

async::Task<void> Kubelet::EnsureFolder(std::string space) {
  const Result<Tenant> tenant = co_await TenantOf(space);
  if (tenant) co_return;
  log::Warn("engine: making the data folder", {{"namespace", space}, {"error", tenant.error().message}});
  const bool slept = co_await async::Sleep(host_.executor, kRuntimeRetryMax, host_.tasks.token());
  if (!slept) co_return;
  folders_.insert(space);
  host_.wake();
}

async::Task<void> Kubelet::StartPod(ObjectKey key, std::string uid) {
  const Result<Tenant> tenant = co_await TenantOf(key.namespace_name);
  Entry& entry = entries_[uid];
  const ObjectPtr pod = cluster_.store.Get(key);
  entry.busy = false;
  marked_.insert(key);
  host_.wake();
  if (!pod || UidOf(*pod) != uid || IsDeleting(*pod)) co_return;
  if (!tenant) {
    if (tenant.error().code == Code::kInvalid || tenant.error().code == Code::kForbidden) {
      Refused(key, uid, tenant.error());
    } else {
      Waits(key, uid, "CreateContainerError", tenant.error());
    }
    co_return;
  }
  auto devices = TakeDevices(key, *pod);
  if (!devices) {
    Waits(key, uid, "UnexpectedAdmissionError", devices.error());
    co_return;
  }
  auto run = BuildPodRun(cluster_, *pod, *tenant, std::move(*devices));
  if (!run && run.error().code == Code::kInvalid) {
    Refused(key, uid, run.error());
    co_return;
  }
  if (!run) {
    Waits(key, uid, "CreateContainerConfigError", run.error());
    co_return;
  }
  // Written before the call: who finds the pod after a kill knows that it may have been started.
  const std::string now = cluster_.Now();
  auto marked = cluster_.ModifyIfUid(
      key, uid, [&](json::Value& object) { WritePodWaiting(object, "ContainerCreating", "", now); });
  if (!marked) co_return;
  entry.busy = true;
  PodRun request = std::move(*run);
  const Result<void> started = co_await runtime_.Start(std::move(request));
  Entry& after = entries_[uid];
  after.busy = false;
  marked_.insert(key);
  host_.wake();
  if (!started && started.error().code == Code::kInvalid) {
    Refused(key, uid, started.error());
  } else if (!started) {
    Waits(key, uid, "CreateContainerError", started.error());
  } else {
    after.failures = 0;
    // Until the runtime says more: it has it, and must not be asked again.
    if (!after.state) after.state = PodState{.uid = uid};
    RecordPod(**marked, "Normal", "Created",
              "Created container " + (**marked)["spec"].At("containers.0.name").AsString());
  }
}

void Kubelet::Refused(const ObjectKey& key, const std::string& uid, const Error& error) {
  entries_[uid].refused = true;
  std::string message = error.message;
  for (const FieldProblem& field : error.fields)
    message += "; " + field.path + ": found " + field.found + ", allowed: " + field.allowed;
  const std::string now = cluster_.Now();
  const auto written = cluster_.ModifyIfUid(key, uid, [&](json::Value& object) {
    // With Always it keeps its place, as a kubelet would have it; a Failed one would be made anew for ever.
    if (object["spec"]["restartPolicy"].AsString() == "Always") {
      WritePodWaiting(object, "CreateContainerError", message, now);
    } else {
      WritePodStartError(object, message, now);
    }
  });
  if (written) RecordPod(**written, "Warning", "Failed", "Error: " + message);
}

void Kubelet::Waits(const ObjectKey& key, const std::string& uid, const std::string& reason,
                    const Error& error) {
  const std::string now = cluster_.Now();
  const auto written = cluster_.ModifyIfUid(
      key, uid, [&](json::Value& object) { WritePodWaiting(object, reason, error.message, now); });
  if (!written) return;
  RecordPod(**written, "Warning", "Failed", "Error: " + error.message);
  Retry(key, entries_[uid]);
}

void Kubelet::Retry(const ObjectKey& key, Entry& entry) {
  const Duration full =
      std::min(kRuntimeRetryMax, kRuntimeRetryMin * (int64_t{1} << std::min(entry.failures, 10)));
  ++entry.failures;
  entry.not_before = host_.executor.clock().MonoNow() + full;
  host_.tasks.Spawn(WakeAt(key, full));
}

async::Task<void> Kubelet::WakeAt(ObjectKey key, Duration wait) {
  const bool slept = co_await async::Sleep(host_.executor, wait, host_.tasks.token());
  if (!slept) co_return;
  marked_.insert(key);
  host_.wake();
}

async::Task<void> Kubelet::StopPod(ObjectKey key, std::string uid, int64_t grace) {
  if (const ObjectPtr pod = cluster_.store.Get(key)) {
    RecordPod(*pod, "Normal", "Killing",
              "Stopping container " + (*pod)["spec"].At("containers.0.name").AsString());
  }
  const Duration wait = std::chrono::seconds(grace);
  const Result<void> asked = co_await runtime_.Stop(uid, wait);
  Entry& entry = entries_[uid];
  entry.busy = false;
  if (asked) {
    entry.stop_grace = grace;
    entry.failures = 0;
  } else {
    Retry(key, entry);
  }
  marked_.insert(key);
  host_.wake();
}

async::Task<void> Kubelet::RemovePod(ObjectKey key, std::string uid) {
  const Result<void> removed = co_await runtime_.Remove(uid, true);
  if (!removed) {
    Entry& entry = entries_[uid];
    entry.busy = false;
    Retry(key, entry);
    co_return;
  }
  entries_.erase(uid);
  const ObjectPtr pod = cluster_.store.Get(key);
  if (!pod || UidOf(*pod) != uid) co_return;
  const auto erased = cluster_.Erase(key);
  if (!erased) Retry(key, entries_[uid]);
}

async::Task<void> Kubelet::RemoveOrphan(std::string uid) {
  log::Warn("engine: ending a pod that no object stands for", {{"uid", uid}});
  async::Backoff backoff(kRuntimeRetryMin, kRuntimeRetryMax, cluster_.random);
  for (;;) {
    const Result<void> removed = co_await runtime_.Remove(uid, true);
    if (removed) break;
    const Duration wait = backoff.Next();
    const bool slept = co_await async::Sleep(host_.executor, wait, host_.tasks.token());
    if (!slept) co_return;
  }
  entries_.erase(uid);
}

// Gives the pod pieces of each kind of device that it asks for, written down before it starts.
Result<std::vector<std::string>> Kubelet::TakeDevices(const ObjectKey& key, const json::Value& pod) {
  std::vector<std::string> files;
  std::string taken = AnnotationOf(pod, kDevices);
  const bool fresh = taken.empty();
  for (const auto& [resource, kind] : devices_) {
    const json::Value& limit = pod["spec"].At("containers.0.resources.limits")[resource];
    const size_t wanted =
        limit.IsString() ? static_cast<size_t>(std::strtoul(limit.AsString().c_str(), nullptr, 10)) : 0;
    std::set<std::string> used;
    std::vector<size_t> mine;
    for (const ObjectPtr& other : cluster_.store.List("pods")) {
      if (IsTerminalPhase(PhaseOf(*other))) continue;
      for (size_t i = 0; i < kind.pieces.size(); ++i) {
        const std::string mark = "," + resource + "=" + std::to_string(i) + ",";
        if (("," + AnnotationOf(*other, kDevices) + ",").find(mark) == std::string::npos) continue;
        used.insert(std::to_string(i));
        if (UidOf(*other) == UidOf(pod)) mine.push_back(i);
      }
    }
    for (size_t i = 0; fresh && i < kind.pieces.size() && mine.size() < wanted; ++i) {
      if (used.contains(std::to_string(i))) continue;
      mine.push_back(i);
      taken += (taken.empty() ? "" : ",") + resource + "=" + std::to_string(i);
    }
    if (mine.size() < wanted) return Fail(Code::kUnavailable, "no free " + resource);
    for (const size_t i : mine) files.insert(files.end(), kind.pieces[i].begin(), kind.pieces[i].end());
  }
  if (fresh && !taken.empty()) {
    RETURN_IF_ERROR(cluster_.ModifyIfUid(
        key, UidOf(pod), [&](json::Value& object) { SetAnnotation(object, kDevices, taken); }));
  }
  return files;
}

void Kubelet::RecordPod(const json::Value& pod, std::string_view type, std::string_view reason,
                        const std::string& message) {
  recorder_.Record(*FindKindByResource("pods"), pod, type, reason, message, "kubelet");
}

}  // namespace cubeplane::engine
