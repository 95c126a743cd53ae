#include "scheduler/fit.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace cubeplane::scheduler {
namespace {

json::Value Yaml(std::string_view text) { return json::ParseYaml(text)->front(); }

NodeView Node(std::string_view name, std::string_view rest = "",
              std::string_view allocatable = "cpu: 8, memory: 32Gi, pods: 10") {
  auto node = ReadNode(Yaml("{metadata: {name: " + std::string(name) +
                            ", labels: {org: public, zone: \"3\"}}, spec: {" + std::string(rest) +
                            "}, status: {allocatable: {" + std::string(allocatable) + "}}}"));
  EXPECT_TRUE(node);
  return *node;
}

PodWishes Pod(std::string_view spec) {
  auto pod = ReadWishes(Yaml("{spec: {" + std::string(spec) + "}}"));
  EXPECT_TRUE(pod);
  return *pod;
}

constexpr char kCpu2[] = "containers: [{name: a, resources: {requests: {cpu: 2}}}]";

std::string Affinity(std::string_view expression) {
  return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" +
         std::string(expression) + "]}}}";
}

bool Fits(const NodeView& node, const PodWishes& pod) { return WhyNot(node, pod).empty(); }

TEST(Fit, ResourcesCountWhatIsRequestedAlready) {
  NodeView node = Node("n1");
  const PodWishes pod = Pod("containers: [{name: a, resources: {requests: {cpu: 5, memory: 20Gi}}}]");
  EXPECT_TRUE(Fits(node, pod));
  ASSERT_TRUE(CountPod(node, pod));
  EXPECT_EQ(WhyNot(node, pod), (std::vector<std::string>{"Insufficient cpu", "Insufficient memory"}));
}

TEST(Fit, AResourceThatTheNodeLacksIsInsufficient) {
  const PodWishes pod =
      Pod("containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}}]");
  EXPECT_EQ(WhyNot(Node("n1"), pod), std::vector<std::string>{"Insufficient nvidia.com/gpu"});
  EXPECT_TRUE(Fits(Node("n2", "", "nvidia.com/gpu: 1, pods: 10"), pod));
}

TEST(Fit, PodsAreCounted) {
  NodeView node = Node("n1", "", "pods: 1");
  const PodWishes pod = Pod("containers: [{name: a}]");
  EXPECT_TRUE(Fits(node, pod));
  ASSERT_TRUE(CountPod(node, pod));
  EXPECT_EQ(WhyNot(node, pod), std::vector<std::string>{"Too many pods"});
}

TEST(Fit, TaintsWantTheExactToleration) {
  const NodeView node = Node("n1", "taints: [{key: cubeplane.io/org, value: alg-a, effect: NoSchedule}]");
  const std::string base = kCpu2;
  EXPECT_EQ(WhyNot(node, Pod(base)),
            std::vector<std::string>{"node(s) had untolerated taint {cubeplane.io/org: alg-a}"});
  EXPECT_TRUE(Fits(
      node,
      Pod(base +
          ", tolerations: [{key: cubeplane.io/org, operator: Equal, value: alg-a, effect: NoSchedule}]")));
  EXPECT_TRUE(Fits(node, Pod(base + ", tolerations: [{key: cubeplane.io/org, operator: Exists}]")));
  EXPECT_TRUE(Fits(node, Pod(base + ", tolerations: [{operator: Exists}]")));
  EXPECT_FALSE(
      Fits(node, Pod(base + ", tolerations: [{key: cubeplane.io/org, value: alg-b, effect: NoSchedule}]")));
  EXPECT_FALSE(
      Fits(node, Pod(base + ", tolerations: [{key: cubeplane.io/org, value: alg-a, effect: NoExecute}]")));
  EXPECT_TRUE(Fits(Node("n2", "taints: [{key: a, effect: PreferNoSchedule}]"), Pod(base)));
}

TEST(Fit, ACordonedNodeTakesNothing) {
  const NodeView node = Node("n1", "unschedulable: true");
  EXPECT_EQ(WhyNot(node, Pod(kCpu2)), std::vector<std::string>{"node(s) were unschedulable"});
  EXPECT_TRUE(Fits(node, Pod(std::string(kCpu2) +
                             ", tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]")));
}

TEST(Fit, SelectorsAndAffinityMustHold) {
  const NodeView node = Node("n1");
  const std::string base = std::string(kCpu2) + ", ";
  EXPECT_TRUE(Fits(node, Pod(base + "nodeSelector: {org: public}")));
  EXPECT_EQ(WhyNot(node, Pod(base + "nodeSelector: {org: alg-a}")),
            std::vector<std::string>{"node(s) didn't match Pod's node affinity/selector"});
  const std::pair<const char*, bool> cases[] = {
      {"{matchExpressions: [{key: org, operator: In, values: [a, public]}]}", true},
      {"{matchExpressions: [{key: org, operator: In, values: [a]}]}", false},
      {"{matchExpressions: [{key: org, operator: NotIn, values: [a]}]}", true},
      {"{matchExpressions: [{key: gpu, operator: NotIn, values: [a]}]}", true},
      {"{matchExpressions: [{key: gpu, operator: Exists}]}", false},
      {"{matchExpressions: [{key: gpu, operator: DoesNotExist}]}", true},
      {"{matchExpressions: [{key: zone, operator: Gt, values: [\"2\"]}]}", true},
      {"{matchExpressions: [{key: zone, operator: Lt, values: [\"3\"]}]}", false},
      {"{matchExpressions: [{key: org, operator: Gt, values: [\"3\"]}]}", false},
      {"{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}", true},
      {"{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}", false},
      {"{matchExpressions: [{key: gpu, operator: Exists}]}, {matchExpressions: [{key: org, operator: "
       "Exists}]}",
       true},
      {"{}", false}};
  for (const auto& [terms, fits] : cases) EXPECT_EQ(Fits(node, Pod(base + Affinity(terms))), fits) << terms;
}

TEST(Fit, TheMessageIsKubeSchedulers) {
  const std::vector<NodeView> nodes = {Node("n1"), Node("n2", "unschedulable: true"),
                                       Node("n3", "unschedulable: true")};
  const Placement none =
      ChooseNode(nodes, Pod("containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1, cpu: 9}}}]"));
  EXPECT_EQ(none.node, "");
  EXPECT_EQ(none.message,
            "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu, 2 node(s) were "
            "unschedulable.");
  EXPECT_EQ(ChooseNode({}, Pod(kCpu2)).message, "no nodes available to schedule pods");
}

TEST(Fit, TheLeastUsedNodeIsChosen) {
  std::vector<NodeView> nodes = {Node("b"), Node("a"), Node("c")};
  const PodWishes pod = Pod(kCpu2);
  EXPECT_EQ(ChooseNode(nodes, pod).node, "a") << "of equals the first by name";
  ASSERT_TRUE(CountPod(nodes[1], pod));
  EXPECT_EQ(ChooseNode(nodes, pod).node, "b");
}

TEST(Fit, ASumThatOverflowsDoesNotFit) {
  NodeView node = Node("n1", "", "nvidia.com/gpu: 4");
  const PodWishes pod =
      Pod("containers: [{name: a, resources: {requests: {nvidia.com/gpu: 9223372036854775807}}}]");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(CountPod(node, pod));
  EXPECT_FALSE(Fits(node, pod));
}

}  // namespace
}  // namespace cubeplane::scheduler
