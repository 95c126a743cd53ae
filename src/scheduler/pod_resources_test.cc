#include "scheduler/pod_resources.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "json/json.h"
#include "scheduler/limit_range.h"
#include "scheduler/quota.h"

namespace cubeplane::scheduler {
namespace {

Quantity Q(std::string_view text) { return *Quantity::Parse(text); }

json::Value Yaml(std::string_view text) { return json::ParseYaml(text)->front(); }

PodResources Pod(std::string_view yaml) {
  auto pod = ReadPodResources(Yaml(yaml));
  EXPECT_TRUE(pod) << (pod ? "" : pod.error().message);
  CopyLimitsToRequests(*pod);
  return *pod;
}

TEST(PodResources, InitContainersCountAsTheLargestOfThem) {
  const auto requests = *PodRequests(Pod(R"(
spec:
  initContainers:
  - {name: i1, resources: {requests: {cpu: 2}}}
  - {name: i2, resources: {requests: {cpu: 3}}}
  containers:
  - {name: a, resources: {requests: {cpu: 1}}}
  - {name: b, resources: {requests: {cpu: 1, memory: 1Gi}}}
)"));
  EXPECT_EQ(requests.at("cpu"), Q("3")) << "the charge is 3, not 7";
  EXPECT_EQ(requests.at("memory"), Q("1Gi"));
}

TEST(PodResources, SidecarsCountWithWhatComesAfterThem) {
  const auto requests = *PodRequests(Pod(R"(
spec:
  initContainers:
  - {name: before, resources: {requests: {cpu: 5}}}
  - {name: side, restartPolicy: Always, resources: {requests: {cpu: 2}}}
  - {name: after, resources: {requests: {cpu: 4}}}
  containers:
  - {name: a, resources: {requests: {cpu: 1}}}
)"));
  EXPECT_EQ(requests.at("cpu"), Q("6")) << "max(5, 2 + 4, 2 + 1)";
}

TEST(PodResources, OverheadIsAddedToLimitsOnlyWhereThereAreSome) {
  const PodResources pod =
      Pod("{spec: {overhead: {cpu: 250m, memory: 64Mi}, containers: [{name: a, resources: {requests: {cpu: "
          "1}, limits: {cpu: 2}}}]}}");
  EXPECT_EQ(PodRequests(pod)->at("cpu"), Q("1250m"));
  EXPECT_EQ(PodRequests(pod)->at("memory"), Q("64Mi"));
  EXPECT_EQ(PodLimits(pod)->at("cpu"), Q("2250m"));
  EXPECT_FALSE(PodLimits(pod)->contains("memory"));
}

TEST(PodResources, PodLevelValuesReplaceTheSum) {
  const PodResources pod =
      Pod("{spec: {resources: {requests: {cpu: 4}, limits: {cpu: 5}}, containers: [{name: a, resources: "
          "{requests: {cpu: 1, memory: 1Gi}}}]}}");
  EXPECT_EQ(PodRequests(pod)->at("cpu"), Q("4"));
  EXPECT_EQ(PodRequests(pod)->at("memory"), Q("1Gi"));
  EXPECT_EQ(PodLimits(pod)->at("cpu"), Q("5"));
}

TEST(PodResources, SumsThatOverflowAreErrors) {
  PodResources pod;
  for (int i = 0; i < 2; ++i)
    pod.containers.push_back({"c", {{"nvidia.com/gpu", Q("9223372036854775807")}}, {}, false});
  const auto usage = PodUsage(pod);
  ASSERT_TRUE(usage) << "still countable exactly";
  EXPECT_FALSE(ToBaseUnits("requests.nvidia.com/gpu", usage->at("requests.nvidia.com/gpu")))
      << "and never a negative number";
  EXPECT_FALSE(CheckQuota({"q", {{"requests.nvidia.com/gpu", Q("4")}}, {}, {}}, *usage));
}

TEST(PodResources, FinerThanAThousandthIsRoundedUpAsTheServerStoresIt) {
  EXPECT_EQ(Pod("{spec: {containers: [{name: a, resources: {requests: {cpu: 0.0001}}}]}}")
                .containers[0]
                .requests.at("cpu"),
            Q("1m"));
}

TEST(PodResources, BadQuantitiesAreNamed) {
  const auto pod = ReadPodResources(
      Yaml("{spec: {containers: [{name: a, resources: {requests: {cpu: x}, limits: {memory: 1X}}}]}}"));
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().fields.at(0).path, "spec.containers[0].resources.requests[cpu]");
  EXPECT_EQ(pod.error().fields.size(), 2u);
}

TEST(PodResources, UsageHasKubernetesKeys) {
  const auto usage =
      *PodUsage(Pod("{spec: {containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi, "
                    "nvidia.com/gpu: 1, hugepages-2Mi: 4Mi}}}]}}"));
  const ResourceList expected = {{"cpu", Q("2")},
                                 {"requests.cpu", Q("2")},
                                 {"limits.cpu", Q("2")},
                                 {"memory", Q("1Gi")},
                                 {"requests.memory", Q("1Gi")},
                                 {"limits.memory", Q("1Gi")},
                                 {"requests.nvidia.com/gpu", Q("1")},
                                 {"hugepages-2Mi", Q("4Mi")},
                                 {"requests.hugepages-2Mi", Q("4Mi")},
                                 {"pods", Q("1")},
                                 {"count/pods", Q("1")}};
  EXPECT_EQ(usage, expected);
}

ResourceList List(const json::Value& value) {
  ResourceList list;
  for (const auto& [key, amount] : value.AsObject()) list[key] = Q(amount.AsString());
  return list;
}

TEST(PodVectors, AgreeWithComponentHelpers) {
  const char* chosen = std::getenv("CUBEPLANE_POD_VECTORS");
  std::ifstream file(chosen != nullptr ? chosen : "tests/pod_vectors/vectors.jsonl");
  size_t compared = 0;
  for (std::string line; std::getline(file, line); ++compared) {
    SCOPED_TRACE("line " + std::to_string(compared + 1));
    const auto vector = json::Parse(line);
    ASSERT_TRUE(vector) << vector.error().message;
    const auto pod = ReadPodResources(*vector);
    ASSERT_TRUE(pod) << pod.error().message;
    ASSERT_EQ(*PodRequests(*pod), List((*vector)["requests"]));
    ASSERT_EQ(*PodLimits(*pod), List((*vector)["limits"]));
  }
  EXPECT_GE(compared, 500u) << "tests/pod_vectors/vectors.jsonl, seen from the project's root";
}

// ---- LimitRange ----

std::vector<LimitItem> Items(std::string_view yaml) { return *ReadLimitRange(Yaml(yaml)); }

// Order matters: an explicit limit becomes the request first, then the LimitRange's defaults apply.
TEST(LimitRange, DefaultsInTheServersOrder) {
  PodResources pod = Pod(R"(
spec:
  containers:
  - {name: a, resources: {limits: {memory: 16Mi}}}
  - {name: b, resources: {requests: {memory: 16Mi}}}
  - {name: c}
)");
  const auto items =
      Items("{spec: {limits: [{type: Container, defaultRequest: {memory: 32Mi}, default: {memory: 64Mi}}]}}");
  const std::string note = ApplyLimitRange(items, pod);
  EXPECT_EQ(pod.containers[0].requests.at("memory"), Q("16Mi"));
  EXPECT_EQ(pod.containers[0].limits.at("memory"), Q("16Mi"));
  EXPECT_EQ(pod.containers[1].requests.at("memory"), Q("16Mi"));
  EXPECT_EQ(pod.containers[1].limits.at("memory"), Q("64Mi"));
  EXPECT_EQ(pod.containers[2].requests.at("memory"), Q("32Mi"));
  EXPECT_EQ(note,
            "LimitRanger plugin set: memory limit for container b; memory request for container c; memory "
            "limit for container c");
}

TEST(LimitRange, AMaximumAloneIsTheDefault) {
  PodResources pod = Pod("{spec: {containers: [{name: a}]}}");
  ApplyLimitRange(Items("{spec: {limits: [{type: Container, max: {cpu: 4}}]}}"), pod);
  EXPECT_EQ(pod.containers[0].limits.at("cpu"), Q("4"));
  EXPECT_EQ(pod.containers[0].requests.at("cpu"), Q("4"));
}

TEST(LimitRange, SpeaksKubernetesWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"max: {cpu: 2}", "maximum cpu usage per Container is 2, but limit is 4"},
      {"min: {cpu: 5}", "minimum cpu usage per Container is 5, but request is 1"},
      {"maxLimitRequestRatio: {cpu: 2}",
       "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000"},
      {"max: {memory: 1Gi}", "maximum memory usage per Container is 1Gi.  No limit is specified"},
      {"min: {memory: 1Gi}", "minimum memory usage per Container is 1Gi.  No request is specified"},
      {"max: {cpu: 2}, min: {memory: 1Gi}",
       "[minimum memory usage per Container is 1Gi.  No request is specified, maximum cpu usage per "
       "Container is 2, but limit is 4]"}};
  for (const auto& [limits, words] : cases) {
    const PodResources pod =
        Pod("{spec: {containers: [{name: a, resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]}}");
    const auto result =
        CheckLimitRange(Items("{spec: {limits: [{type: Container, " + std::string(limits) + "}]}}"), pod);
    ASSERT_FALSE(result) << limits;
    EXPECT_EQ(result.error().message, words);
  }
  EXPECT_TRUE(CheckLimitRange(
      Items("{spec: {limits: [{type: Container, max: {cpu: 4}, min: {cpu: 1}, maxLimitRequestRatio: {cpu: "
            "4}}]}}"),
      Pod("{spec: {containers: [{name: a, resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]}}")));
}

TEST(LimitRange, PodsAndClaimsHaveTheirOwn) {
  const PodResources pod =
      Pod("{spec: {containers: [{name: a, resources: {limits: {cpu: 3}}}, {name: b, resources: {limits: "
          "{cpu: 3}}}]}}");
  EXPECT_EQ(CheckLimitRange(Items("{spec: {limits: [{type: Pod, max: {cpu: 4}}]}}"), pod).error().message,
            "maximum cpu usage per Pod is 4, but limit is 6");
  const auto claims =
      Items("{spec: {limits: [{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 5Gi}}]}}");
  EXPECT_TRUE(CheckClaimLimits(claims, {{"storage", Q("2Gi")}}));
  EXPECT_EQ(CheckClaimLimits(claims, {{"storage", Q("6Gi")}}).error().message,
            "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi");
}

// ---- ResourceQuota ----

Quota Hard(ResourceList hard, ResourceList used = {}) {
  return {"quota-nlp", std::move(hard), std::move(used), {}};
}

TEST(ResourceQuota, SpeaksKubernetesWords) {
  const auto result =
      CheckQuota(Hard({{"requests.cpu", Q("4")}, {"pods", Q("10")}, {"limits.memory", Q("8Gi")}},
                      {{"requests.cpu", Q("3500m")}, {"limits.memory", Q("7Gi")}}),
                 {{"requests.cpu", Q("1")}, {"pods", Q("1")}, {"limits.memory", Q("2Gi")}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kQuotaExceeded);
  EXPECT_EQ(result.error().message,
            "exceeded quota: quota-nlp, requested: limits.memory=2Gi,requests.cpu=1, used: "
            "limits.memory=7Gi,requests.cpu=3500m, "
            "limited: limits.memory=8Gi,requests.cpu=4");
}

TEST(ResourceQuota, WantsAValueFromEveryContainerForCpuAndMemoryOnly) {
  const PodResources pod =
      Pod("{spec: {initContainers: [{name: helper}], containers: [{name: main, resources: {limits: {cpu: "
          "1}}}]}}");
  EXPECT_EQ(
      CheckMustSpecify(
          Hard({{"limits.cpu", Q("4")}, {"requests.memory", Q("4Gi")}, {"requests.nvidia.com/gpu", Q("1")}}),
          pod)
          .error()
          .message,
      "failed quota: quota-nlp: must specify limits.cpu for: helper; requests.memory for: helper,main");
  EXPECT_TRUE(CheckMustSpecify(
      Hard({{"requests.nvidia.com/gpu", Q("1")}, {"limits.ephemeral-storage", Q("1")}}), pod));
}

TEST(ResourceQuota, AllQuotasOfANamespaceHoldTogether) {
  const PodResources pod = Pod("{spec: {containers: [{name: a, resources: {limits: {cpu: 3}}}]}}");
  Quota strict = Hard({{"cpu", Q("1")}});
  Quota loose = Hard({{"requests.cpu", Q("5")}});
  EXPECT_FALSE(AdmitPod({strict, loose}, pod));
  EXPECT_FALSE(AdmitPod({loose, strict}, pod));
  const auto charged = AdmitPod({loose}, pod);
  ASSERT_TRUE(charged);
  EXPECT_EQ(charged->at(0).used.at("requests.cpu"), Q("3"));
  EXPECT_FALSE(AdmitPod(*charged, pod));
}

TEST(ResourceQuota, ScopesChooseThePods) {
  Quota quota = Hard({{"pods", Q("0")}});
  PodResources pod = Pod("{spec: {activeDeadlineSeconds: 3600, containers: [{name: a}]}}");
  for (const auto& [scope, counts] : {std::pair("Terminating", true),
                                      {"NotTerminating", false},
                                      {"BestEffort", true},
                                      {"NotBestEffort", false}}) {
    quota.scopes = {scope};
    EXPECT_EQ(!AdmitPod({quota}, pod), counts) << scope;
  }
}

TEST(ResourceQuota, CountsObjectsUnderBothNames) {
  const Quota quota =
      Hard({{"services", Q("1")}, {"count/statefulsets.apps", Q("1")}}, {{"services", Q("1")}});
  EXPECT_EQ(AdmitObject({quota}, "services", "", {}).error().message,
            "exceeded quota: quota-nlp, requested: services=1, used: services=1, limited: services=1");
  EXPECT_TRUE(AdmitObject({quota}, "statefulsets", "apps", {}));
  const auto claim =
      ClaimUsage(Yaml("{spec: {storageClassName: fast, resources: {requests: {storage: 10Gi}}}}"));
  EXPECT_EQ(claim->at("requests.storage"), Q("10Gi"));
  EXPECT_EQ(claim->at("fast.storageclass.storage.k8s.io/requests.storage"), Q("10Gi"));
  EXPECT_EQ(ServiceUsage(Yaml("{spec: {type: NodePort, ports: [{}, {}]}}")).at("services.nodeports"), Q("2"));
}

TEST(ResourceQuota, ZeroDoesNotCountAndNegativeIsRefused) {
  EXPECT_TRUE(CheckQuota(Hard({{"pods", Q("1")}}, {{"pods", Q("5")}}), {{"pods", Q("0")}}));
  EXPECT_EQ(CheckQuota(Hard({{"requests.cpu", Q("1")}}), {{"requests.cpu", Q("-1")}}).error().message,
            "quota usage is negative for resource(s): requests.cpu");
}

TEST(ResourceQuota, IsReadFromItsObject) {
  const auto quota =
      ReadQuota(Yaml("{metadata: {name: q}, spec: {hard: {pods: 5}, scopes: [BestEffort]}, status: {hard: "
                     "{pods: 4}, used: {pods: 2}}}"));
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->hard.at("pods"), Q("4"));
  EXPECT_EQ(quota->used.at("pods"), Q("2"));
  EXPECT_EQ(quota->scopes, std::vector<std::string>{"BestEffort"});
}

}  // namespace
}  // namespace cubeplane::scheduler
