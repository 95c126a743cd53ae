// StatefulSets, Services and quotas over the life of a notebook.
#include "engine/cluster.h"
#include "engine/testing/engine_fixture.h"

namespace cubeplane::engine {
namespace {

class Sets : public EngineTest {
 protected:
  static std::string Set(int replicas, const std::string& env = "", const std::string& more = "") {
    return R"({"metadata":{"name":"nb"},"spec":{"replicas":)" + std::to_string(replicas) +
           R"(,"serviceName":"nb",)" + more +
           R"("selector":{"matchLabels":{"app":"nb"}},"template":{"metadata":{"labels":{"app":"nb"}},"spec":{"terminationGracePeriodSeconds":10,
             "containers":[{"name":"main","image":"env:default","command":["jupyter-lab"],"env":[)" +
           env + R"(],"resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]}}}})";
  }
  void Pass(Duration by) {
    executor_.Advance(by);
    executor_.RunUntilIdle();
  }
  json::Value Pod(const std::string& name = "nb-0") { return Get(std::string(kPods) + "/" + name); }
  json::Value Status() { return Get(std::string(kSets) + "/nb")["status"]; }
  std::string Scale(int replicas) { return R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}"; }
  // No two payloads of one pod name at the same time (law 2).
  void ExpectNeverTwo() {
    for (const auto& a : runtime_.runs()) {
      for (const auto& b : runtime_.runs()) {
        if (&a == &b || a.name != b.name || a.started > b.started) continue;
        EXPECT_TRUE(a.ended && *a.ended <= b.started) << a.name << " ran twice at once";
      }
    }
  }
};

TEST_F(Sets, StartStopAndStartAgain) {
  ASSERT_EQ(Call("POST", kSets, Set(1)).status, 201);
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(IsPodReady(Pod()));
  EXPECT_EQ(Status()["readyReplicas"].AsInt(), 1);
  EXPECT_EQ(Status()["observedGeneration"].AsInt(), 1);
  const std::string uid = UidOf(Pod());
  EXPECT_EQ(Call("PATCH", std::string(kSets) + "/nb", Scale(0), "application/merge-patch+json").status, 200);
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Call("GET", std::string(kPods) + "/nb-0").status, 404);
  EXPECT_EQ(Status()["replicas"].AsInt(-1), 0);
  EXPECT_EQ(Call("PATCH", std::string(kSets) + "/nb/scale", Scale(1), "application/merge-patch+json").status,
            200);
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(IsPodReady(Pod()));
  EXPECT_NE(UidOf(Pod()), uid);
  ExpectNeverTwo();
}

TEST_F(Sets, ReplaceTheirPodWhenTheTemplateChanges) {
  Call("POST", kSets, Set(1, R"({"name":"FAKE_TERM_SECONDS","value":"3"})"));
  Pass(std::chrono::seconds(1));
  const std::string uid = UidOf(Pod());
  Call("PATCH", std::string(kSets) + "/nb",
       R"({"spec":{"template":{"spec":{"containers":[{"name":"main","workingDir":"/data"}]}}}})",
       "application/strategic-merge-patch+json");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(UidOf(Pod()), uid);  // the old one has not ended yet
  Pass(std::chrono::seconds(5));
  EXPECT_NE(UidOf(Pod()), uid);
  EXPECT_EQ(Pod().At("spec.containers.0.workingDir").AsString(), "/data");
  EXPECT_EQ(Pod().At("spec.containers.0.image").AsString(), "env:default");
  EXPECT_EQ(Status()["currentRevision"], Status()["updateRevision"]);
  ExpectNeverTwo();
}

TEST_F(Sets, BringALostPodBackWithBackOff) {
  Call("POST", kSets, Set(1));
  Pass(std::chrono::seconds(1));
  const std::string uid = UidOf(Pod());
  runtime_.KillPod(uid);
  Pass(std::chrono::seconds(3));
  EXPECT_TRUE(IsPodReady(Pod()));
  EXPECT_NE(UidOf(Pod()), uid);
  const size_t runs = runtime_.runs().size();
  for (int i = 0; i < 100; ++i) {
    for (const std::string& running : runtime_.running()) runtime_.KillPod(running);
    Pass(std::chrono::seconds(1));
  }
  EXPECT_LT(runtime_.runs().size(), runs + 10);
  ExpectNeverTwo();
}

TEST_F(Sets, GrowInOrderAndShrinkFromTheEnd) {
  Call("POST", kSets, Set(3));
  EXPECT_EQ(Get(kPods)["items"].AsArray().size(), 1u);
  Pass(std::chrono::seconds(2));
  EXPECT_EQ(Status()["readyReplicas"].AsInt(), 3);
  Call("PATCH", std::string(kSets) + "/nb", Scale(1), "application/merge-patch+json");
  Pass(std::chrono::seconds(5));
  const json::Value pods = Get(kPods);
  ASSERT_EQ(pods["items"].AsArray().size(), 1u);
  EXPECT_EQ(pods.At("items.0.metadata.name").AsString(), "nb-0");
}

TEST_F(Sets, GoWithTheirPods) {
  Call("POST", kSets, Set(1));
  Pass(std::chrono::seconds(1));
  Call("DELETE", std::string(kSets) + "/nb");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Get(kPods)["items"].AsArray().size(), 0u);
  EXPECT_TRUE(runtime_.running().empty());
}

TEST_F(Sets, SurviveAKillAtAnyMoment) {
  MoveToDisk();
  Call("POST", kSets, Set(1, R"({"name":"FAKE_TERM_SECONDS","value":"2"})"));
  for (int i = 0; i < 12; ++i) {
    if (i == 4) Call("PATCH", std::string(kSets) + "/nb", Scale(0), "application/merge-patch+json");
    if (i == 8) Call("PATCH", std::string(kSets) + "/nb", Scale(1), "application/merge-patch+json");
    executor_.RunOne();
    Kill();
    clock_.Advance(std::chrono::milliseconds(400));
    Boot();
  }
  Pass(std::chrono::seconds(10));
  EXPECT_TRUE(IsPodReady(Pod()));
  EXPECT_EQ(runtime_.running().size(), 1u);
  ExpectNeverTwo();
}

TEST_F(Sets, RefuseWhatKubernetesRefuses) {
  std::string set = Set(1);
  set.replace(set.find(R"("matchLabels":{"app":"nb"})"), 26, R"("matchLabels":{"app":"other"})");
  EXPECT_TRUE(Call("POST", kSets, set)
                  .body["message"]
                  .AsString()
                  .ends_with("`selector` does not match template `labels`"));
  Call("POST", kSets, Set(1));
  const Reply moved = Call("PATCH", std::string(kSets) + "/nb", R"({"spec":{"serviceName":"other"}})",
                           "application/merge-patch+json");
  EXPECT_EQ(moved.status, 422);
  EXPECT_TRUE(moved.body["message"].AsString().starts_with(
      "StatefulSet.apps \"nb\" is invalid: spec: Forbidden: updates to statefulset spec"));
}

TEST_F(Sets, HaveEndpointsWhenReady) {
  Call(
      "POST", "/api/v1/namespaces/default/services",
      R"({"metadata":{"name":"nb"},"spec":{"selector":{"app":"nb"},"ports":[{"port":80,"targetPort":8888}]}})");
  Call("POST", kSets, Set(1));
  const std::string path = "/api/v1/namespaces/default/endpoints/nb";
  EXPECT_EQ(Get(path).At("subsets.0.notReadyAddresses.0.targetRef.name").AsString(), "nb-0");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Get(path).At("subsets.0.addresses.0.targetRef.name").AsString(), "nb-0");
  EXPECT_EQ(Get(path).At("subsets.0.ports.0.port").AsInt(), 8888);
  Call("DELETE", std::string(kSets) + "/nb");
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Get(path)["subsets"].AsArray().size(), 0u);
  Call("DELETE", "/api/v1/namespaces/default/services/nb");
  EXPECT_EQ(Call("GET", path).status, 404);
}

TEST_F(Sets, FillAndCheckLimits) {
  Call(
      "POST", "/api/v1/namespaces/default/limitranges",
      R"({"metadata":{"name":"limits"},"spec":{"limits":[{"type":"Container","default":{"cpu":"2","memory":"1Gi"},"defaultRequest":{"cpu":"250m"},"max":{"cpu":"3"}}]}})");
  const Reply made = Call(
      "POST", kPods,
      R"({"metadata":{"name":"a"},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"env:default","command":["a"]}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body.At("spec.containers.0.resources.limits.cpu").AsString(), "2");
  EXPECT_EQ(made.body.At("spec.containers.0.resources.requests.cpu").AsString(), "250m");
  const Reply big = Call(
      "POST", kPods,
      R"({"metadata":{"name":"b"},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"env:default","command":["a"],"resources":{"limits":{"cpu":"4"}}}]}})");
  EXPECT_EQ(big.status, 403);
  EXPECT_EQ(big.body["message"].AsString(),
            "pods \"b\" is forbidden: maximum cpu usage per Container is 3, but limit is 4");
}

TEST_F(Sets, KeepTheQuota) {
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  Call(
      "POST", quotas,
      R"({"metadata":{"name":"quota-nlp"},"spec":{"hard":{"requests.cpu":"2","limits.memory":"4Gi","pods":"10","count/pods":"20"}}})");
  const auto pod = [](const std::string& name, const std::string& cpu) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"env:default","command":["a"],
      "env":[{"name":"FAKE_SECONDS","value":"5"}],"resources":{"limits":{"cpu":")" +
           cpu + R"(","memory":"1Gi"}}}]}})";
  };
  ASSERT_EQ(Call("POST", kPods, pod("a", "1500m")).status, 201);
  EXPECT_EQ(Get(quotas + "/quota-nlp")["status"]["used"]["requests.cpu"].AsString(), "1500m");
  const Reply over = Call("POST", kPods, pod("b", "1"));
  EXPECT_EQ(over.status, 403);
  EXPECT_EQ(over.body["message"].AsString(),
            "pods \"b\" is forbidden: exceeded quota: quota-nlp, requested: requests.cpu=1, used: "
            "requests.cpu=1500m, limited: requests.cpu=2");
  EXPECT_EQ(Call("POST", std::string(kPods) + "?dryRun=All", pod("b", "1")).status, 403);
  Pass(std::chrono::seconds(7));  // a pod that has ended holds nothing
  const json::Value used = Get(quotas + "/quota-nlp")["status"]["used"];
  EXPECT_EQ(used["requests.cpu"].AsString(), "0");
  EXPECT_EQ(used["pods"].AsString(), "0");
  EXPECT_EQ(used["count/pods"].AsString(), "1");
  EXPECT_EQ(Call("POST", kPods, pod("b", "1")).status, 201);
  const Reply none = Call(
      "POST", kPods,
      R"({"metadata":{"name":"c"},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"env:default","command":["a"]}]}})");
  EXPECT_EQ(none.body["message"].AsString(),
            "pods \"c\" is forbidden: failed quota: quota-nlp: must specify limits.memory for: main; "
            "requests.cpu for: main");
}

}  // namespace
}  // namespace cubeplane::engine
