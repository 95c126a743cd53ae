#include "controller/project/decide.h"

#include <gtest/gtest.h>

#include "controller/names.h"

namespace cubeplane::controller::project {
namespace {

model::Project Nlp() {
  model::Project project;
  project.metadata = {.name = "nlp", .uid = "u1"};
  model::Binding binding;
  binding.quota = {{"requests.cpu", Quantity::FromInt(4)}};
  binding.limit_range.default_limit = {{"cpu", Quantity::FromInt(1)}};
  project.spec.bindings = {binding};
  return project;
}

Plan Look(const model::Project& project, const Seen& seen) {
  return Decide(project, project.spec.bindings[0], "inst", seen);
}

TEST(DecideProject, MakesTheLimitRangeBeforeTheQuota) {
  const Plan plan = Look(Nlp(), {.caches_complete = true});
  std::vector<std::string> kinds;
  for (const Change& change : plan.changes) kinds.push_back(change.kind);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"Namespace", "LimitRange", "ResourceQuota", "PersistentVolumeClaim"}));
  EXPECT_FALSE(plan.ready);
}

TEST(DecideProject, ReachesAFixedPointAndRepairsWhatWasEdited) {
  const model::Project project = Nlp();
  Seen seen{.caches_complete = true};
  for (const Change& change : Look(project, seen).changes) {
    if (change.kind == "Namespace") seen.name_space = change.object;
    if (change.kind == "LimitRange") seen.limit_range = change.object;
    if (change.kind == "ResourceQuota") seen.quota = change.object;
    if (change.kind == "PersistentVolumeClaim") seen.claim = change.object;
  }
  EXPECT_EQ(Look(project, seen).reason.code, "quota_not_counted");
  seen.quota.MakeObject()["status"].Set("hard", json::Object{{"requests.cpu", "4"}});
  EXPECT_EQ(Look(project, seen).reason.code, "service_account_missing");
  seen.service_account = json::Object{{"kind", "ServiceAccount"}};
  EXPECT_TRUE(Look(project, seen).ready);
  EXPECT_TRUE(Look(project, seen).changes.empty());

  // The same amount in another form is no difference; another amount is.
  seen.quota.MakeObject()["spec"].Set("hard", json::Object{{"requests.cpu", "4000m"}});
  EXPECT_TRUE(Look(project, seen).changes.empty());
  seen.quota.MakeObject()["spec"].Set("hard", json::Object{{"requests.cpu", "400"}});
  const Plan repair = Look(project, seen);
  ASSERT_EQ(repair.changes.size(), 1u);
  EXPECT_EQ(repair.changes[0].verb, Verb::kUpdate);
  EXPECT_EQ(repair.changes[0].object.At("spec.hard")["requests.cpu"].AsString(), "4");
}

TEST(DecideProject, AForeignNamespaceIsNeverTouched) {
  Seen seen{.caches_complete = true};
  seen.name_space = json::Object{{"metadata", json::Object{{"name", "proj-nlp"}}}};
  const Plan plan = Look(Nlp(), seen);
  EXPECT_TRUE(plan.changes.empty());
  EXPECT_EQ(plan.reason.code, "namespace_not_ours");
}

}  // namespace
}  // namespace cubeplane::controller::project
