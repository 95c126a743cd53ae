#include "controller/workload/decide.h"

#include <gtest/gtest.h>

#include "controller/names.h"
#include "controller/workload/objects.h"
#include "json/json.h"

namespace cubeplane::controller::workload {
namespace {

using model::Phase;

const Time kNow(std::chrono::seconds(1'800'000'000));

model::Workload Job(Phase phase) {
  model::Workload job;
  job.kind = model::WorkloadKind::kTrainingJob;
  job.metadata = {
      .name = "bert", .project = "nlp", .uid = "019a0000-0000-7000-8000-0000009f3a1c", .owner = "ann"};
  job.status.phase = phase;
  job.status.attempts = {{.number = 2}};
  return job;
}

model::Workload Notebook(Phase phase) {
  model::Workload notebook = Job(phase);
  notebook.kind = model::WorkloadKind::kNotebook;
  return notebook;
}

Seen Nothing() { return {.caches_complete = true, .project_ready = true}; }

json::Value Parse(const std::string& text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

json::Value PodIn(const std::string& phase, const std::string& container_state = "{}") {
  return Parse(R"({"metadata":{"uid":"p1"},"spec":{"nodeName":"n1"},"status":{"phase":")" + phase +
               R"(","containerStatuses":[{"restartCount":0,"state":)" + container_state + "}]}}");
}

TEST(DecideTraining, NothingIsDoneBeforeTheCachesAreComplete) {
  Seen seen = Nothing();
  seen.caches_complete = false;
  EXPECT_TRUE(Decide(Job(Phase::kAdmitted), seen, kNow).steps.empty());
  EXPECT_TRUE(Decide(Job(Phase::kRunning), seen, kNow).steps.empty());
}

TEST(DecideTraining, AdmittedIsSentOnceItsProjectIsReady) {
  Seen seen = Nothing();
  EXPECT_EQ(Decide(Job(Phase::kAdmitted), seen, kNow).steps, std::vector{Step::kSend});
  seen.project_ready = false;
  const Plan plan = Decide(Job(Phase::kAdmitted), seen, kNow);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(plan.again);
}

TEST(DecideTraining, AMissingPodIsLookedForBeforeItCountsAsGone) {
  Seen seen = Nothing();
  EXPECT_EQ(Decide(Job(Phase::kRunning), seen, kNow).steps, std::vector{Step::kLook});
  seen.absence_confirmed = true;
  const Plan plan = Decide(Job(Phase::kRunning), seen, kNow);
  ASSERT_EQ(plan.steps, std::vector{Step::kEnd});
  EXPECT_EQ(plan.end.reason.code, "pod_gone");
  EXPECT_TRUE(plan.end.retry);
  EXPECT_FALSE(plan.end.proof.empty());
}

TEST(DecideTraining, ItsResultIsTheTerminationMessage) {
  Seen seen = Nothing();
  seen.pod = PodIn("Succeeded",
                   R"({"terminated":{"exitCode":0,"reason":"Completed","message":"{\"accuracy\":0.97}"}})");
  const Plan plan = Decide(Job(Phase::kRunning), seen, kNow);
  ASSERT_EQ(plan.steps, (std::vector{Step::kKeepLog, Step::kEnd}));
  EXPECT_EQ(plan.end.phase, Phase::kSucceeded);
  EXPECT_EQ(plan.end.result, R"({"accuracy":0.97})");
  EXPECT_EQ(plan.end.exit_code, 0);
}

TEST(DecideTraining, AMessageThatIsNoJsonObjectIsNoResult) {
  for (const char* message : {"boom", "[1]", "1", ""}) {
    const json::Value pod =
        PodIn("Failed", std::string(R"({"terminated":{"exitCode":1,"message":")") + message + R"("}})");
    EXPECT_EQ(ResultOf(pod), "") << message;
  }
}

TEST(DecideTraining, MemoryIsNamedWhenItWasTheCause) {
  Seen seen = Nothing();
  seen.pod = PodIn("Failed", R"({"terminated":{"exitCode":137,"reason":"OOMKilled"}})");
  EXPECT_EQ(Decide(Job(Phase::kRunning), seen, kNow).end.reason.code, "out_of_memory");
  seen.pod = PodIn("Failed", R"({"terminated":{"exitCode":1,"reason":"Error"}})");
  EXPECT_EQ(Decide(Job(Phase::kRunning), seen, kNow).end.reason.code, "program_failed");
}

TEST(DecideTraining, AProgramThatNeverRanIsNotBlamed) {
  Seen seen = Nothing();
  seen.pod = PodIn(
      "Failed", R"({"terminated":{"exitCode":128,"reason":"StartError","message":"image x is not here"}})");
  const model::Reason unknown_image = Decide(Job(Phase::kRunning), seen, kNow).end.reason;
  EXPECT_EQ(unknown_image.code, "pod_failed");
  EXPECT_EQ(unknown_image.params.back().second, "image x is not here");
  seen.pod = PodIn("Failed", R"({"terminated":{"exitCode":137,"reason":"ContainerStatusUnknown"}})");
  seen.pod.MakeObject()["status"].Set("reason", "NodeLost");
  EXPECT_EQ(Decide(Job(Phase::kRunning), seen, kNow).end.reason.params.front().second, "NodeLost");
}

TEST(DecideTraining, StoppingDeletesThePodOnceAndEndsStopped) {
  Seen seen = Nothing();
  seen.pod = PodIn("Running", R"({"running":{"startedAt":"2027-01-15T08:00:00Z"}})");
  EXPECT_EQ(Decide(Job(Phase::kStopping), seen, kNow).steps, std::vector{Step::kStopPod});
  seen.pod.MakeObject()["metadata"].Set("deletionTimestamp", "2027-01-15T08:00:00Z");
  EXPECT_TRUE(Decide(Job(Phase::kStopping), seen, kNow).steps.empty());
  seen.pod = {};
  seen.absence_confirmed = true;
  EXPECT_EQ(Decide(Job(Phase::kStopping), seen, kNow).end.phase, Phase::kStopped);
}

TEST(DecideTraining, TheTimeLimitStopsItAndFailsIt) {
  model::Workload job = Job(Phase::kRunning);
  job.spec.time_limit_seconds = 60;
  job.status.started = kNow - std::chrono::seconds(59);
  Seen seen = Nothing();
  seen.pod = PodIn("Running", "{}");
  Plan plan = Decide(job, seen, kNow);
  EXPECT_EQ(plan.status.phase, Phase::kRunning);
  EXPECT_EQ(plan.again, Duration(std::chrono::seconds(1)));
  plan = Decide(job, seen, kNow + std::chrono::seconds(1));
  EXPECT_EQ(plan.status.phase, Phase::kStopping);
  job.status.phase = Phase::kStopping;
  job.status.reason = plan.status.reason;
  seen.pod = PodIn("Failed", R"({"terminated":{"exitCode":143}})");
  plan = Decide(job, seen, kNow);
  EXPECT_EQ(plan.end.phase, Phase::kFailed);
  EXPECT_EQ(plan.end.reason.code, "time_limit");
  EXPECT_FALSE(plan.end.retry);
}

TEST(DecideTraining, WhatTheSchedulerSaysIsShown) {
  Seen seen = Nothing();
  seen.pod = Parse(R"({"metadata":{"uid":"p1"},"status":{"phase":"Pending","conditions":[
      {"type":"PodScheduled","status":"False","message":"0/1 nodes are available: 1 Insufficient cpu."}]}})");
  const Plan plan = Decide(Job(Phase::kStarting), seen, kNow);
  EXPECT_EQ(plan.status.phase, Phase::kStarting);
  EXPECT_EQ(plan.status.reason.code, "unschedulable");
}

TEST(DecideTraining, AnEndedPodIsRemovedAndADeletedWorkloadForgottenAfterIt) {
  model::Workload job = Job(Phase::kSucceeded);
  Seen seen = Nothing();
  seen.pod = PodIn("Succeeded");
  EXPECT_EQ(Decide(job, seen, kNow).steps, std::vector{Step::kRemovePod});
  job.metadata.deleted = kNow;
  EXPECT_EQ(Decide(job, seen, kNow).steps, (std::vector{Step::kRemovePod, Step::kCleanUp}));
  seen.pod = {};
  EXPECT_EQ(Decide(job, seen, kNow).steps, (std::vector{Step::kCleanUp, Step::kForget}));
}

TEST(DecideNotebook, StopScalesDownAndEndsWhenThePodIsProvedGone) {
  model::Workload notebook = Notebook(Phase::kStopping);
  Seen seen = Nothing();
  seen.stateful_set = Parse(R"({"spec":{"replicas":1}})");
  seen.pod = PodIn("Running");
  EXPECT_EQ(Decide(notebook, seen, kNow).steps, std::vector{Step::kScaleDown});
  seen.stateful_set = Parse(R"({"spec":{"replicas":0}})");
  EXPECT_TRUE(Decide(notebook, seen, kNow).steps.empty());
  seen.pod = {};
  EXPECT_EQ(Decide(notebook, seen, kNow).steps, std::vector{Step::kLook});
  seen.absence_confirmed = true;
  EXPECT_EQ(Decide(notebook, seen, kNow).end.phase, Phase::kStopped);
}

// Found by the simulation: a StatefulSet that has just been scaled may still make the pod that is not there
// yet.
TEST(DecideNotebook, StopWaitsUntilTheStatefulSetHasSettled) {
  Seen seen = Nothing();
  seen.absence_confirmed = true;
  seen.stateful_set =
      Parse(R"({"metadata":{"generation":3},"spec":{"replicas":0},"status":{"observedGeneration":2}})");
  EXPECT_TRUE(Decide(Notebook(Phase::kStopping), seen, kNow).steps.empty());
  EXPECT_TRUE(Decide(Notebook(Phase::kStopping), seen, kNow).again);
  seen.stateful_set =
      Parse(R"({"metadata":{"generation":3},"spec":{"replicas":0},"status":{"observedGeneration":3}})");
  EXPECT_EQ(Decide(Notebook(Phase::kStopping), seen, kNow).steps, std::vector{Step::kEnd});
  seen.stateful_set = Parse(R"({"metadata":{"generation":3},"spec":{"replicas":1}})");
  EXPECT_EQ(Decide(Notebook(Phase::kStopping), seen, kNow).steps, std::vector{Step::kScaleDown});
}

TEST(DecideNotebook, StartScalesUpWithTheNewAttempt) {
  Seen seen = Nothing();
  seen.stateful_set =
      Parse(R"({"spec":{"replicas":0,"template":{"metadata":{"labels":{"cubeplane.io/attempt":"1"}}}}})");
  EXPECT_EQ(Decide(Notebook(Phase::kAdmitted), seen, kNow).steps, std::vector{Step::kScaleUp});
}

TEST(DecideNotebook, RestartsAreCountedByPodUidAndByContainer) {
  model::Workload notebook = Notebook(Phase::kRunning);
  notebook.status.restarts = 3;
  notebook.status.attempts = {{.number = 2, .pod_uid = "p0", .pod_restarts = 1}};
  Seen seen = Nothing();
  seen.stateful_set =
      Parse(R"({"spec":{"replicas":1,"template":{"metadata":{"labels":{"cubeplane.io/attempt":"2"}}}}})");
  seen.pod = PodIn("Running");
  EXPECT_EQ(Decide(notebook, seen, kNow).status.restarts, 4);
  notebook.status.attempts.back().pod_uid = "p1";
  notebook.status.attempts.back().pod_restarts = 0;
  EXPECT_EQ(Decide(notebook, seen, kNow).status.restarts, 3);
  seen.pod = Parse(
      R"({"metadata":{"uid":"p1"},"status":{"phase":"Running","containerStatuses":[{"restartCount":2}]}})");
  EXPECT_EQ(Decide(notebook, seen, kNow).status.restarts, 5);
}

TEST(DecideNotebook, RunningOnlyWhenItAnswers) {
  Seen seen = Nothing();
  seen.stateful_set =
      Parse(R"({"spec":{"replicas":1,"template":{"metadata":{"labels":{"cubeplane.io/attempt":"2"}}}}})");
  seen.pod = PodIn("Running");
  EXPECT_EQ(Decide(Notebook(Phase::kStarting), seen, kNow).status.phase, Phase::kStarting);
  seen.pod.MakeObject()["status"].Set("conditions",
                                      json::Array{json::Object{{"type", "Ready"}, {"status", "True"}}});
  EXPECT_EQ(Decide(Notebook(Phase::kStarting), seen, kNow).status.phase, Phase::kRunning);
}

TEST(Objects, PrefixNamesStayApart) {
  model::Workload a = Notebook(Phase::kRunning), b = a;
  b.metadata.name = "bert-1";
  b.metadata.uid = "019a0000-0000-7000-8000-0000009f3a1d";
  EXPECT_NE(BaseName(a), BaseName(b));
  EXPECT_EQ(NotebookStatefulSet(a, {}, 1)["spec"]["selector"]["matchLabels"][kLabelWorkload].AsString(),
            a.metadata.uid);
}

TEST(Objects, EveryContainerNamesRequestsAndLimits) {
  model::Workload job = Job(Phase::kAdmitted);
  job.spec.resources.cpu = *Quantity::Parse("2");
  job.spec.resources.memory = *Quantity::Parse("4Gi");
  const json::Value pod = TrainingPod(job, {.resource_group = "alg-a"});
  const json::Value& resources = pod.At("spec.containers.0.resources");
  EXPECT_EQ(resources["requests"]["cpu"].AsString(), "2");
  EXPECT_EQ(resources["limits"]["memory"].AsString(), "4Gi");
  EXPECT_EQ(pod.At("spec.restartPolicy").AsString(), "Never");
  EXPECT_EQ(pod.At("spec.tolerations.0.value").AsString(), "alg-a");
  EXPECT_EQ(pod.At("metadata.name").AsString(), "bert-9f3a1c-a2");
}

TEST(Names, OddUserNamesMakeValidLabels) {
  EXPECT_EQ(LabelValue("王.ann_1@x"), "ann_1-x");
  EXPECT_EQ(LabelValue("--"), "");
}

}  // namespace
}  // namespace cubeplane::controller::workload
