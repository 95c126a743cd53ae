// Pods from creation to the end: scheduling, the runtime, states, logs, deletion, and what a kill leaves.
#include "engine/cluster.h"
#include "engine/testing/engine_fixture.h"

namespace cubeplane::engine {
namespace {

class Pods : public EngineTest {
 protected:
  static std::string Pod(const std::string& name, const std::string& env = "", const std::string& more = "",
                         const std::string& cpu = "1") {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"env:default","command":["python","train.py"],"env":[)" +
           env + R"(],"resources":{"limits":{"cpu":")" + cpu + R"(","memory":"1Gi"}}}])" + more + "}}";
  }
  static std::string Var(const std::string& name, const std::string& value) {
    return R"({"name":")" + name + R"(","value":")" + value + R"("})";
  }
  json::Value PodAt(const std::string& name) { return Get(std::string(kPods) + "/" + name); }
  std::string Phase(const std::string& name) { return PodAt(name)["status"]["phase"].AsString(); }
  void Pass(Duration by) {
    executor_.Advance(by);
    executor_.RunUntilIdle();
  }
};

TEST_F(Pods, RunToTheirEnd) {
  const Reply made =
      Call("POST", kPods,
           Pod("train", Var("FAKE_SECONDS", "5") + "," + Var("FAKE_MESSAGE", R"({\"accuracy\":0.97})")));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["spec"]["dnsPolicy"].AsString(), "ClusterFirst");
  EXPECT_EQ(made.body["status"]["qosClass"].AsString(), "Guaranteed");
  json::Value pod = PodAt("train");
  EXPECT_EQ(pod["spec"]["nodeName"].AsString(), "box-1");
  EXPECT_EQ(pod["status"].At("containerStatuses.0.state.waiting.reason").AsString(), "ContainerCreating");
  Pass(std::chrono::seconds(1));
  pod = PodAt("train");
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Running");
  EXPECT_TRUE(pod["status"].At("containerStatuses.0.ready").AsBool());
  Pass(std::chrono::seconds(5));
  pod = PodAt("train");
  EXPECT_EQ(pod["status"]["phase"].AsString(), "Succeeded");
  const json::Value& end = pod["status"].At("containerStatuses.0.state.terminated");
  EXPECT_EQ(end["exitCode"].AsInt(-1), 0);
  EXPECT_EQ(end["reason"].AsString(), "Completed");
  EXPECT_EQ(end["message"].AsString(), R"({"accuracy":0.97})");
  const json::Value events =
      Get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dtrain");
  EXPECT_EQ(events["items"].AsArray().size(), 3u);  // Scheduled, Created, Started
}

TEST_F(Pods, TellHowTheyFailed) {
  Call("POST", kPods, Pod("bad", Var("FAKE_SECONDS", "1") + "," + Var("FAKE_EXIT", "3")));
  Call("POST", kPods, Pod("big"));
  Call("POST", kPods, Pod("lost"));
  Pass(std::chrono::milliseconds(500));
  EXPECT_TRUE(runtime_.KillPayload(UidOf(PodAt("big")), true));
  EXPECT_TRUE(runtime_.KillPod(UidOf(PodAt("lost"))));
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Phase("bad"), "Failed");
  EXPECT_EQ(PodAt("bad").At("status.containerStatuses.0.state.terminated.exitCode").AsInt(), 3);
  EXPECT_EQ(PodAt("big").At("status.containerStatuses.0.state.terminated.reason").AsString(), "OOMKilled");
  EXPECT_EQ(Phase("lost"), "Failed");
  EXPECT_EQ(PodAt("lost")["status"]["reason"].AsString(), "NodeLost");
}

TEST_F(Pods, ThatCannotStartFailWithTheReason) {
  std::string pod = Pod("x");
  pod.replace(pod.find("env:default"), 11, "registry.local/a:1");
  Call("POST", kPods, pod);
  EXPECT_EQ(Phase("x"), "Failed");
  EXPECT_EQ(PodAt("x").At("status.containerStatuses.0.state.terminated.reason").AsString(), "StartError");
  EXPECT_NE(PodAt("x")["status"]["message"].AsString().find("registry.local/a:1"), std::string::npos);
}

TEST_F(Pods, WaitForRoomAndSayWhy) {
  Call("POST", kPods, Pod("first", Var("FAKE_SECONDS", "5"), "", "3"));
  Call("POST", kPods, Pod("second", "", "", "2"));
  const json::Value waiting = PodAt("second");
  EXPECT_EQ(waiting["status"]["phase"].AsString(), "Pending");
  const json::Value& scheduled = waiting["status"].At("conditions.0");
  EXPECT_EQ(scheduled["reason"].AsString(), "Unschedulable");
  EXPECT_TRUE(scheduled["message"].AsString().starts_with("0/1 nodes are available: 1 Insufficient cpu."))
      << scheduled["message"].AsString();
  Pass(std::chrono::seconds(7));
  EXPECT_EQ(Phase("second"), "Running");
}

TEST_F(Pods, GoOnlyWhenTheirProcessesAreGone) {
  Call("POST", kPods, Pod("slow", Var("FAKE_TERM_SECONDS", "4")));
  Pass(std::chrono::seconds(1));
  const std::string uid = UidOf(PodAt("slow"));
  const Reply marked = Call("DELETE", std::string(kPods) + "/slow");
  EXPECT_EQ(marked.status, 200);
  EXPECT_EQ(marked.body["metadata"]["deletionGracePeriodSeconds"].AsInt(), 30);
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(PodAt("slow")["metadata"]["uid"].AsString(), uid);
  EXPECT_EQ(runtime_.running(), std::vector<std::string>{uid});
  Pass(std::chrono::seconds(3));
  EXPECT_EQ(Call("GET", std::string(kPods) + "/slow").status, 404);
  EXPECT_TRUE(runtime_.running().empty());
}

TEST_F(Pods, AreForcedOnlyAsFarAsTheProofGoes) {
  Call("POST", kPods, Pod("stuck", Var("FAKE_TERM_SECONDS", "60")));
  Pass(std::chrono::seconds(1));
  Call("DELETE", std::string(kPods) + "/stuck");
  Call("DELETE", std::string(kPods) + "/stuck?gracePeriodSeconds=0");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Call("GET", std::string(kPods) + "/stuck").status, 404);
  EXPECT_TRUE(runtime_.running().empty());
}

TEST_F(Pods, RestartWithBackOff) {
  std::string pod = Pod("again", Var("FAKE_SECONDS", "1") + "," + Var("FAKE_EXIT", "2"));
  pod.replace(pod.find("Never"), 5, "Always");
  Call("POST", kPods, pod);
  Pass(std::chrono::milliseconds(1500));
  const json::Value status = PodAt("again").At("status.containerStatuses.0");
  EXPECT_EQ(status["restartCount"].AsInt(), 1);
  EXPECT_EQ(status.At("state.waiting.reason").AsString(), "CrashLoopBackOff");
  EXPECT_EQ(status.At("lastState.terminated.exitCode").AsInt(), 2);
  EXPECT_EQ(Phase("again"), "Running");
}

TEST_F(Pods, AreFoundAgainAfterAKillAndRunOnce) {
  MoveToDisk();
  Call("POST", kPods, Pod("train", Var("FAKE_SECONDS", "5")));
  Call("POST", kPods, Pod("gone", Var("FAKE_TERM_SECONDS", "2")));
  Pass(std::chrono::seconds(1));
  Call("DELETE", std::string(kPods) + "/gone");
  Kill();
  Pass(std::chrono::seconds(1));
  Boot();
  EXPECT_EQ(Phase("train"), "Running");
  Kill();
  Pass(std::chrono::seconds(10));
  Boot();
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Phase("train"), "Succeeded");
  EXPECT_EQ(Call("GET", std::string(kPods) + "/gone").status, 404);
  EXPECT_EQ(runtime_.runs().size(), 2u);
}

TEST_F(Pods, ThatRanAndAreUnknownToTheRuntimeAreLostNotRunAgain) {
  MoveToDisk();
  Call("POST", kPods, Pod("train"));
  Pass(std::chrono::seconds(1));
  const std::string uid = UidOf(PodAt("train"));
  Kill();
  ASSERT_TRUE(Await(runtime_.Remove(uid, true)));
  Boot();
  EXPECT_EQ(Phase("train"), "Failed");
  EXPECT_EQ(PodAt("train")["status"]["reason"].AsString(), "NodeLost");
  EXPECT_EQ(runtime_.runs().size(), 1u);
}

TEST_F(Pods, DoNotBelieveAForgedDoor) {
  std::string pod = Pod("x");
  pod.replace(pod.find(R"("name":"x")"), 10,
              R"("name":"x","annotations":{"cubeplane.io/door":"/run/haproxy/admin.sock"})");
  Call("POST", kPods, pod);
  EXPECT_EQ(AnnotationOf(PodAt("x"), "cubeplane.io/door"), "");
  Call("PATCH", std::string(kPods) + "/x",
       R"({"metadata":{"annotations":{"cubeplane.io/door":"/run/haproxy/admin.sock"}}})",
       "application/merge-patch+json");
  EXPECT_EQ(AnnotationOf(PodAt("x"), "cubeplane.io/door"), "");
}

TEST_F(Pods, WithoutAnObjectAreEnded) {
  Call("POST", kPods, Pod("train"));
  Pass(std::chrono::seconds(1));
  ASSERT_EQ(runtime_.running().size(), 1u);
  Kill();
  Boot();  // the database was in memory: nobody knows the pod any more
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(runtime_.running().empty());
}

TEST_F(Pods, WaitForARuntimeThatIsAway) {
  runtime_.SetReachable(false);
  Call("POST", kPods, Pod("train"));
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(PodAt("train").At("status.containerStatuses.0.state.waiting.reason").AsString(),
            "CreateContainerError");
  runtime_.SetReachable(true);
  Pass(std::chrono::seconds(40));
  EXPECT_EQ(Phase("train"), "Running");
  EXPECT_EQ(runtime_.runs().size(), 1u);
}

TEST_F(Pods, MapToWhatRuns) {
  Call("POST", "/api/v1/namespaces/default/secrets",
       R"({"metadata":{"name":"door"},"stringData":{"secret":"a-door-secret-0123456789"}})");
  Call("POST", kMaps, R"({"metadata":{"name":"settings"},"data":{"mode":"fast"}})");
  Call(
      "POST", "/api/v1/namespaces/default/persistentvolumeclaims",
      R"({"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}}}})");
  const std::string pod =
      R"json({"metadata":{"name":"nb","annotations":{"cubeplane.io/door-port":"8888","cubeplane.io/door-secret":"door"}},
    "spec":{"restartPolicy":"Always","containers":[{"name":"main","image":"env:default","command":["jupyter-lab"],"args":["--port=$(PORT)"],
    "env":[{"name":"PORT","value":"8888"},{"name":"MODE","valueFrom":{"configMapKeyRef":{"name":"settings","key":"mode"}}},
           {"name":"ME","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
    "ports":[{"name":"http","containerPort":8888}],
    "readinessProbe":{"httpGet":{"path":"/api","port":"http"},"periodSeconds":1},
    "volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"shm","mountPath":"/dev/shm"}]}],
    "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}},{"name":"shm","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}]}})json";
  const Reply made = Call("POST", kPods, pod);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(Get("/api/v1/namespaces/default/persistentvolumeclaims/data")["status"]["phase"].AsString(),
            "Bound");
  Pass(std::chrono::milliseconds(100));
  EXPECT_FALSE(PodAt("nb").At("status.containerStatuses.0.ready").AsBool());
  Pass(std::chrono::seconds(1));
  const json::Value running = PodAt("nb");
  EXPECT_TRUE(running.At("status.containerStatuses.0.ready").AsBool());
  EXPECT_TRUE(AnnotationOf(running, "cubeplane.io/door").ends_with("/door"));
  EXPECT_FALSE(AnnotationOf(Get("/api/v1/namespaces/default"), "cubeplane.io/data-folder").empty());
}

TEST_F(Pods, WaitForASecretThatIsNotThereYet) {
  std::string pod = Pod("nb");
  pod.replace(
      pod.find(R"("name":"nb")"), 11,
      R"("name":"nb","annotations":{"cubeplane.io/door-port":"8888","cubeplane.io/door-secret":"door"})");
  Call("POST", kPods, pod);
  EXPECT_EQ(PodAt("nb").At("status.containerStatuses.0.state.waiting.reason").AsString(),
            "CreateContainerConfigError");
  EXPECT_EQ(PodAt("nb").At("status.containerStatuses.0.state.waiting.message").AsString(),
            "secret \"door\" not found");
  Call("POST", "/api/v1/namespaces/default/secrets",
       R"({"metadata":{"name":"door"},"stringData":{"secret":"a-door-secret-0123456789"}})");
  Pass(std::chrono::seconds(35));
  EXPECT_EQ(Phase("nb"), "Running");
}

TEST_F(Pods, GiveTheirLog) {
  Call("POST", kPods, Pod("train", Var("FAKE_SECONDS", "5")));
  EXPECT_EQ(Call("GET", std::string(kPods) + "/train/log").body["message"].AsString(),
            "container \"main\" in pod \"train\" is waiting to start: ContainerCreating");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Read(Call("GET", std::string(kPods) + "/train/log")), "train: started\n");
  const Reply follow = Call("GET", std::string(kPods) + "/train/log?follow=true");
  EXPECT_EQ(Read(follow), "train: started\n");
  EXPECT_EQ(Read(follow), "train: ended\n");
  EXPECT_EQ(Read(follow), "");
  EXPECT_EQ(Read(Call("GET", std::string(kPods) + "/train/log?tailLines=1")), "train: ended\n");
  EXPECT_EQ(Read(Call("GET", std::string(kPods) + "/train/log?limitBytes=5")), "train");
  EXPECT_NE(Read(Call("GET", std::string(kPods) + "/train/log?timestamps=true")).find("Z train: started"),
            std::string::npos);
  EXPECT_EQ(Call("GET", std::string(kPods) + "/train/log?tailLines=x").status, 400);
}

TEST_F(Pods, RefuseWhatTheEngineCannotRun) {
  const Reply init = Call("POST", kPods, Pod("x", "", R"(,"initContainers":[{"name":"i","image":"a"}])"));
  EXPECT_EQ(init.status, 422);
  EXPECT_EQ(init.body["message"].AsString(),
            "Pod \"x\" is invalid: spec.initContainers: Forbidden: not supported by the embedded engine");
  EXPECT_EQ(Call("POST", kPods, Pod("x", "", R"(,"hostNetwork":true)")).status, 422);
  EXPECT_EQ(Call("POST", kPods, R"({"metadata":{"name":"x"},"spec":{}})").body["message"].AsString(),
            "Pod \"x\" is invalid: spec.containers: Required value");
  EXPECT_EQ(Call("POST", kPods, Pod("x", "", "", "abc")).status, 400);
}

}  // namespace
}  // namespace cubeplane::engine
