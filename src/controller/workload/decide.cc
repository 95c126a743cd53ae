#include "controller/workload/decide.h"

#include <algorithm>

#include "controller/names.h"
#include "json/json.h"

namespace cubeplane::controller::workload {
namespace {

using model::Phase;
using model::Reason;

constexpr size_t kMaxResult = 4096;
constexpr size_t kMaxReasonText = 500;

const json::Value& MainStatus(const json::Value& pod) { return pod.At("status.containerStatuses.0"); }
const json::Value& Terminated(const json::Value& pod) { return MainStatus(pod).At("state.terminated"); }

bool IsDeleting(const json::Value& object) { return object["metadata"].Contains("deletionTimestamp"); }

bool IsReady(const json::Value& pod) {
  for (const json::Value& condition : pod.At("status.conditions").AsArray()) {
    if (condition["type"].AsString() == "Ready") return condition["status"].AsString() == "True";
  }
  return false;
}

std::string Cut(std::string text) {
  if (text.size() > kMaxReasonText) text.resize(kMaxReasonText);
  return text;
}

// Why a pod that is there does not run yet; empty when it simply starts.
Reason StartingReason(const json::Value& pod) {
  for (const json::Value& condition : pod.At("status.conditions").AsArray()) {
    if (condition["type"].AsString() == "PodScheduled" && condition["status"].AsString() == "False") {
      return {"unschedulable", {{"message", Cut(condition["message"].AsString())}}};
    }
  }
  const json::Value& waiting = MainStatus(pod).At("state.waiting");
  const std::string& word = waiting["reason"].AsString();
  if (word.empty() || word == "ContainerCreating" || word == "PodInitializing") return {};
  std::string text = waiting["message"].AsString();
  const json::Value& last = MainStatus(pod).At("lastState.terminated");
  if (word == "CrashLoopBackOff" && !last.IsNull()) {
    std::string why = last["message"].AsString();
    if (why.empty()) why = "exit code " + std::to_string(last["exitCode"].AsInt());
    return {"keeps_failing", {{"message", Cut(why)}}};
  }
  return {"cannot_start", {{"word", word}, {"message", Cut(std::move(text))}}};
}

StatusPatch Patch(const model::Workload& workload, const json::Value& pod) {
  StatusPatch patch;
  patch.restarts = workload.status.restarts;
  patch.pod = PodName(workload);
  if (pod.IsNull()) return patch;
  patch.pod_uid = pod.At("metadata.uid").AsString();
  patch.node = pod.At("spec.nodeName").AsString();
  patch.started = ParseTime(MainStatus(pod).At("state.running.startedAt").AsString());
  return patch;
}

// A new pod in the place of a known one is one restart; within a pod the container's own count tells.
void CountRestarts(const model::Workload& workload, const json::Value& pod, StatusPatch& patch) {
  patch.pod_restarts = static_cast<int32_t>(MainStatus(pod)["restartCount"].AsInt());
  if (workload.status.attempts.empty()) return;
  const model::AttemptStatus& known = workload.status.attempts.back();
  if (known.pod_uid.empty()) return;
  const bool replaced = known.pod_uid != patch.pod_uid;
  patch.restarts += replaced ? 1 + patch.pod_restarts : std::max(0, patch.pod_restarts - known.pod_restarts);
}

// Words of the kubelet for a container whose program did not run, or of whose end nothing is known: its exit
// code says nothing about the program.
bool NeverSpoke(const std::string& word) { return word == "StartError" || word == "ContainerStatusUnknown"; }

const std::string& FirstOf(const json::Value& a, const json::Value& b) {
  return a.AsString().empty() ? b.AsString() : a.AsString();
}

EndDecision EndOfPod(const json::Value& pod) {
  EndDecision end;
  const json::Value& ended = Terminated(pod);
  const std::string& phase = pod.At("status.phase").AsString();
  end.proof = "pod " + pod.At("metadata.uid").AsString() + " " + phase;
  if (!ended.IsNull()) end.exit_code = static_cast<int32_t>(ended["exitCode"].AsInt());
  end.result = ResultOf(pod);
  if (phase == "Succeeded") {
    end.phase = Phase::kSucceeded;
    return end;
  }
  end.phase = Phase::kFailed;
  end.retry = true;
  const std::string code = std::to_string(ended["exitCode"].AsInt());
  if (ended["reason"].AsString() == "OOMKilled") {
    end.reason = {
        "out_of_memory",
        {{"limit", pod.At("spec.containers.0.resources.limits.memory").AsString()}, {"code", code}}};
  } else if (ended.IsNull() || NeverSpoke(ended["reason"].AsString())) {
    end.reason = {"pod_failed",
                  {{"word", FirstOf(pod.At("status.reason"), ended["reason"])},
                   {"message", Cut(FirstOf(pod.At("status.message"), ended["message"]))}}};
  } else {
    end.reason = {"program_failed", {{"code", code}}};
  }
  return end;
}

bool PodEnded(const json::Value& pod) {
  const std::string& phase = pod.At("status.phase").AsString();
  return phase == "Succeeded" || phase == "Failed";
}

bool TimeIsUp(const model::Workload& workload, Time now) {
  return workload.spec.time_limit_seconds > 0 && workload.status.started &&
         now - *workload.status.started >= std::chrono::seconds(workload.spec.time_limit_seconds);
}

void DecideLiveTraining(const model::Workload& workload, const Seen& seen, Time now, Plan& plan) {
  const bool stopping = workload.status.phase == Phase::kStopping;
  if (seen.pod.IsNull()) {
    if (workload.status.phase == Phase::kAdmitted) {
      plan.steps = {Step::kSend};
      return;
    }
    if (!seen.absence_confirmed) {
      plan.steps = {Step::kLook};
      return;
    }
    plan.end.proof = "pod " + PodName(workload) + " not found by the API server";
    plan.end.phase = stopping ? Phase::kStopped : Phase::kFailed;
    if (!stopping) {
      plan.end.reason = {"pod_gone", {{"pod", PodName(workload)}}};
      plan.end.retry = true;
    } else if (workload.status.reason.code == "time_limit") {
      plan.end.phase = Phase::kFailed;
      plan.end.reason = workload.status.reason;
    }
    plan.steps = {Step::kEnd};
    return;
  }
  if (PodEnded(seen.pod)) {
    plan.end = EndOfPod(seen.pod);
    if (stopping && workload.status.reason.code == "time_limit") {
      plan.end.phase = Phase::kFailed;
      plan.end.reason = workload.status.reason;
      plan.end.retry = false;
    } else if (stopping) {
      plan.end.phase = Phase::kStopped;
      plan.end.reason = {};
      plan.end.retry = false;
    }
    plan.steps = {Step::kKeepLog, Step::kEnd};
    return;
  }
  plan.status = Patch(workload, seen.pod);
  if (stopping) {
    if (!IsDeleting(seen.pod)) plan.steps = {Step::kStopPod};
    return;
  }
  if (TimeIsUp(workload, now)) {
    plan.status.phase = Phase::kStopping;
    plan.status.reason = {"time_limit", {{"seconds", std::to_string(workload.spec.time_limit_seconds)}}};
    plan.steps = {Step::kSetStatus};
    return;
  }
  if (workload.spec.time_limit_seconds > 0 && workload.status.started) {
    plan.again = *workload.status.started + std::chrono::seconds(workload.spec.time_limit_seconds) - now;
  }
  const bool runs = seen.pod.At("status.phase").AsString() == "Running";
  plan.status.phase = runs ? Phase::kRunning : Phase::kStarting;
  if (!runs) plan.status.reason = StartingReason(seen.pod);
  plan.steps = {Step::kSetStatus};
}

// Not there, or at 0 replicas and seen as such by the StatefulSet's own controller: no pod will come of it.
bool HasSettled(const json::Value& set) {
  if (set.IsNull()) return true;
  return set.At("spec.replicas").AsInt() == 0 && set.At("status.replicas").AsInt() == 0 &&
         set.At("status.observedGeneration").AsInt() >= set.At("metadata.generation").AsInt();
}

void DecideLiveNotebook(const model::Workload& workload, const Seen& seen, Plan& plan) {
  const int64_t replicas = seen.stateful_set.At("spec.replicas").AsInt();
  if (workload.status.phase == Phase::kStopping) {
    if (!seen.stateful_set.IsNull() && replicas > 0) {
      plan.steps = {Step::kScaleDown};
    } else if (!seen.pod.IsNull()) {
      plan.steps = {};  // it ends in its grace
    } else if (!seen.absence_confirmed) {
      plan.steps = {Step::kLook};
    } else if (!HasSettled(seen.stateful_set)) {
      plan.again = std::chrono::milliseconds(200);  // its controller may still be making a pod
    } else {
      plan.end.phase = Phase::kStopped;
      plan.end.proof = "pod " + PodName(workload) + " not found by the API server, 0 replicas";
      plan.steps = {Step::kEnd};
    }
    return;
  }
  if (seen.stateful_set.IsNull()) {
    // Once sent, only the API server's word makes it anew: the cache may lag.
    const bool sure = workload.status.phase == Phase::kAdmitted || seen.looked;
    plan.steps = {sure ? Step::kSend : Step::kLook};
    return;
  }
  const std::string attempt = std::to_string(CurrentAttempt(workload));
  const std::string& template_attempt =
      seen.stateful_set["spec"]["template"]["metadata"]["labels"][kLabelAttempt].AsString();
  if (replicas == 0 || template_attempt != attempt) {
    plan.steps = {Step::kScaleUp};
    return;
  }
  plan.status = Patch(workload, seen.pod);
  plan.status.phase =
      !seen.pod.IsNull() && !IsDeleting(seen.pod) && IsReady(seen.pod) ? Phase::kRunning : Phase::kStarting;
  if (!seen.pod.IsNull()) {
    CountRestarts(workload, seen.pod, plan.status);
    if (plan.status.phase == Phase::kStarting) plan.status.reason = StartingReason(seen.pod);
  }
  const bool was_up = workload.status.phase == Phase::kRunning || !workload.status.reason.code.empty();
  if (plan.status.phase == Phase::kStarting && plan.status.reason.code.empty() && was_up &&
      workload.status.started) {
    plan.status.reason = {"notebook_restarting", {}};
  }
  plan.steps = {Step::kSetStatus};
}

void DecideEnded(const model::Workload& workload, const Seen& seen, Plan& plan) {
  const bool notebook = workload.kind == model::WorkloadKind::kNotebook;
  if (!notebook && !seen.pod.IsNull() && !IsDeleting(seen.pod)) plan.steps.push_back(Step::kRemovePod);
  if (!workload.metadata.deleted) return;
  plan.steps.push_back(Step::kCleanUp);
  if (!seen.pod.IsNull()) return;
  plan.steps.push_back(Step::kForget);
}

}  // namespace

std::string ResultOf(const json::Value& pod) {
  const std::string& message = Terminated(pod)["message"].AsString();
  if (message.empty() || message.size() > kMaxResult) return {};
  const Result<json::Value> parsed = json::Parse(message);
  return parsed && parsed->IsObject() ? message : std::string();
}

Plan Decide(const model::Workload& workload, const Seen& seen, Time now) {
  Plan plan;
  const Phase phase = workload.status.phase;
  if (!seen.caches_complete || phase == Phase::kWaiting) return plan;
  if (model::IsTerminal(phase)) {
    DecideEnded(workload, seen, plan);
    return plan;
  }
  if (phase == Phase::kAdmitted && !seen.project_ready) {
    plan.again = std::chrono::seconds(1);
    return plan;
  }
  if (workload.kind == model::WorkloadKind::kNotebook) {
    DecideLiveNotebook(workload, seen, plan);
  } else {
    DecideLiveTraining(workload, seen, now, plan);
  }
  return plan;
}

}  // namespace cubeplane::controller::workload
