#include "engine/pod_status.h"

#include "engine/cluster.h"
#include "engine/pod_run.h"

namespace cubeplane::engine {
namespace {

constexpr int kLostExitCode = 137;

json::Value TimeText(const std::optional<Time>& time) {
  return time ? json::Value(FormatTimeSeconds(*time)) : json::Value();
}

json::Value Terminated(const PodState& state, int exit_code, std::string_view reason) {
  json::Object terminated{{"exitCode", exit_code}, {"reason", reason}};
  if (state.signal != 0) terminated.Set("signal", state.signal);
  if (!state.message.empty()) terminated.Set("message", state.message);
  if (state.started_at) terminated.Set("startedAt", TimeText(state.started_at));
  if (state.finished_at) terminated.Set("finishedAt", TimeText(state.finished_at));
  terminated.Set("containerID", "cubeplane://" + state.uid);
  return json::Object{{"terminated", std::move(terminated)}};
}

json::Value Waiting(const std::string& reason, const std::string& message) {
  json::Object waiting{{"reason", reason}};
  if (!message.empty()) waiting.Set("message", message);
  return json::Object{{"waiting", std::move(waiting)}};
}

std::string_view EndReason(const PodState& state) {
  if (state.oom_killed) return "OOMKilled";
  return state.exit_code == 0 ? "Completed" : "Error";
}

void WriteContainer(json::Value& pod, json::Value state, json::Value last, bool ready, int restarts,
                    bool started) {
  const json::Value& container = pod["spec"].At("containers.0");
  json::Object status{{"name", container["name"]},
                      {"state", std::move(state)},
                      {"lastState", std::move(last)},
                      {"ready", ready},
                      {"restartCount", restarts},
                      {"image", container["image"]},
                      {"imageID", ""},
                      {"started", started}};
  if (started) status.Set("containerID", "cubeplane://" + UidOf(pod));
  StatusOf(pod).Set("containerStatuses", json::Array{json::Value(std::move(status))});
}

// `over` is the reason why a pod that has ended is not ready: "PodCompleted", "PodFailed"; "" while it lives.
void WriteConditions(json::Value& pod, bool ready, std::string_view over, const std::string& now) {
  json::Value& status = StatusOf(pod);
  const std::string& name = pod["spec"].At("containers.0.name").AsString();
  SetCondition(status, "Initialized", true, over == "PodCompleted" ? over : "", "", now);
  const std::string_view reason = ready ? "" : over.empty() ? "ContainersNotReady" : over;
  const std::string message = ready || !over.empty() ? "" : "containers with unready status: [" + name + "]";
  SetCondition(status, "Ready", ready, reason, message, now);
  SetCondition(status, "ContainersReady", ready, reason, message, now);
}

void SetDoor(json::Value& pod, const std::string& socket) {
  if (!socket.empty()) {
    SetAnnotation(pod, kDoor, socket);
  } else if (!AnnotationOf(pod, kDoor).empty()) {
    Sub(Meta(pod), "annotations").Erase(kDoor);
  }
}

void WriteEnd(json::Value& pod, const PodState& state, const std::string& now) {
  json::Value& status = StatusOf(pod);
  const bool lost = state.phase == PodPhase::kLost;
  const bool success = !lost && state.exit_code == 0;
  status.Set("phase", success ? "Succeeded" : "Failed");
  if (lost) {
    status.Set("reason", "NodeLost");
    status.Set("message", "The pod was lost: its supervisor is gone and all its processes with it." +
                              (state.message.empty() ? std::string() : " " + state.message));
  }
  WriteContainer(pod,
                 lost ? Terminated(state, kLostExitCode, "ContainerStatusUnknown")
                      : Terminated(state, state.exit_code, EndReason(state)),
                 json::Object{}, false, state.restarts, false);
  WriteConditions(pod, false, success ? "PodCompleted" : "PodFailed", now);
  SetDoor(pod, "");
}

void BeginStatus(json::Value& pod, const std::string& now) {
  json::Value& status = StatusOf(pod);
  if (status["startTime"].IsNull()) status.Set("startTime", now);
}

}  // namespace

void WritePodStatus(json::Value& pod, const PodState& state, const std::string& now) {
  BeginStatus(pod, now);
  if (state.phase == PodPhase::kExited || state.phase == PodPhase::kLost) return WriteEnd(pod, state, now);
  json::Value& status = StatusOf(pod);
  const bool running = state.phase == PodPhase::kRunning;
  const bool ready = running && state.ready;
  status.Set("phase", running || state.restarts > 0 ? "Running" : "Pending");
  // The last end stays visible beside the present state.
  PodState ended = state;
  ended.started_at.reset();
  const json::Value last =
      state.restarts > 0 ? Terminated(ended, state.exit_code, EndReason(state)) : json::Value(json::Object{});
  json::Value present;
  if (running) {
    present = json::Object{{"running", json::Object{{"startedAt", TimeText(state.started_at)}}}};
  } else if (state.restarts > 0) {
    present = Waiting("CrashLoopBackOff", state.message);
  } else {
    present = Waiting("ContainerCreating", state.message);
  }
  WriteContainer(pod, std::move(present), last, ready, state.restarts, running);
  WriteConditions(pod, ready, "", now);
  SetDoor(pod, running ? state.door_socket : "");
}

void WritePodWaiting(json::Value& pod, const std::string& reason, const std::string& message,
                     const std::string& now) {
  BeginStatus(pod, now);
  StatusOf(pod).Set("phase", "Pending");
  WriteContainer(pod, Waiting(reason, message), json::Object{}, false, 0, false);
  WriteConditions(pod, false, "", now);
}

void WritePodStartError(json::Value& pod, const std::string& message, const std::string& now) {
  BeginStatus(pod, now);
  StatusOf(pod).Set("phase", "Failed");
  StatusOf(pod).Set("message", message);
  PodState state;
  state.uid = UidOf(pod);
  state.message = message;
  WriteContainer(pod, Terminated(state, 128, "StartError"), json::Object{}, false, 0, false);
  WriteConditions(pod, false, "PodFailed", now);
}

}  // namespace cubeplane::engine
