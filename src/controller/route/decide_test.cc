#include "controller/route/decide.h"

#include <gtest/gtest.h>

namespace cubeplane::controller::route {
namespace {

TEST(DecideRoutes, OnlyARunningPodWithADoorHasOne) {
  auto notebook = std::make_shared<model::Workload>();
  notebook->kind = model::WorkloadKind::kNotebook;
  notebook->metadata = {.name = "nb", .project = "demo", .uid = "w1", .owner = "ann"};
  notebook->status.phase = model::Phase::kRunning;
  Input input{.workloads = {notebook}, .domain = "localhost"};
  EXPECT_TRUE(Decide(input).empty());

  json::Value pod = json::Object{
      {"metadata",
       json::Object{{"uid", "p1"}, {"annotations", json::Object{{"cubeplane.io/door", "/run/x.sock"}}}}},
      {"status", json::Object{{"phase", "Running"}}}};
  input.pods = {{"w1", pod}};
  input.secrets = {{"w1", "s"}};
  const auto routes = Decide(input);
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0].host, "nb--demo.localhost");
  EXPECT_EQ(routes[0].upstream, "unix@/run/x.sock");
  EXPECT_EQ(routes[0].owner, "ann");

  // Going away: the route goes first.
  pod.MakeObject()["metadata"].Set("deletionTimestamp", "2027-01-15T08:00:00Z");
  input.pods["w1"] = pod;
  EXPECT_TRUE(Decide(input).empty());
}

}  // namespace
}  // namespace cubeplane::controller::route
