// The generic API: create, read, list with pages, update, delete, watch, and what it refuses.
#include "engine/testing/engine_fixture.h"

namespace cubeplane::engine {
namespace {

using Api = EngineTest;

std::string Map(const std::string& name, const std::string& value = "1", const std::string& label = "x") {
  return R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + label + R"("}},"data":{"k":")" +
         value + R"("}})";
}

TEST_F(Api, AsksForCredentials) {
  token_ = "";
  const Reply none = Call("GET", kMaps);
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.body["reason"].AsString(), "Unauthorized");
  EXPECT_EQ(Call("GET", "/readyz").text, "ok");
  token_ = "wrong-token-wrong-token";
  EXPECT_EQ(Call("GET", kMaps).status, 401);
  token_ = "viewer-token-012345678";
  EXPECT_EQ(Call("GET", kMaps).status, 200);
  const Reply write = Call("POST", kMaps, Map("a"));
  EXPECT_EQ(write.status, 403);
  EXPECT_EQ(write.body["message"].AsString(),
            "configmaps is forbidden: User \"viewer\" cannot create resource \"configmaps\" in API group "
            "\"\" in the "
            "namespace \"default\"");
  EXPECT_EQ(Call("GET", "/api/v1/secrets").status, 403);
}

TEST_F(Api, CreatesReadsAndDeletes) {
  const Reply made = Call("POST", kMaps, Map("a"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["kind"].AsString(), "ConfigMap");
  EXPECT_EQ(made.body["metadata"]["namespace"].AsString(), "default");
  EXPECT_FALSE(made.body["metadata"]["uid"].AsString().empty());
  const Reply again = Call("POST", kMaps, Map("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body["reason"].AsString(), "AlreadyExists");
  EXPECT_EQ(again.body["message"].AsString(), "configmaps \"a\" already exists");
  EXPECT_EQ(Get(std::string(kMaps) + "/a"), made.body);
  const Reply gone = Call("DELETE", std::string(kMaps) + "/a");
  EXPECT_EQ(gone.body["status"].AsString(), "Success");
  const Reply missing = Call("GET", std::string(kMaps) + "/a");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body["message"].AsString(), "configmaps \"a\" not found");
  EXPECT_EQ(missing.body["details"]["kind"].AsString(), "configmaps");
}

TEST_F(Api, GeneratesNamesAndDryRuns) {
  const Reply dry = Call("POST", std::string(kMaps) + "?dryRun=All", Map("a"));
  EXPECT_EQ(dry.status, 201);
  EXPECT_EQ(Call("GET", std::string(kMaps) + "/a").status, 404);
  const Reply named = Call("POST", kMaps, R"({"metadata":{"generateName":"job-"}})");
  EXPECT_EQ(named.status, 201);
  EXPECT_TRUE(named.body["metadata"]["name"].AsString().starts_with("job-"));
  EXPECT_EQ(named.body["metadata"]["name"].AsString().size(), 9u);
}

TEST_F(Api, RefusesWithKubernetesWords) {
  const Reply bad = Call("POST", kMaps, R"({"metadata":{"name":"A_b"}})");
  EXPECT_EQ(bad.status, 422);
  EXPECT_TRUE(bad.body["message"].AsString().starts_with(
      "ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain "
      "must consist of"));
  EXPECT_EQ(bad.body["details"].At("causes.0")["field"].AsString(), "metadata.name");
  EXPECT_EQ(Call("POST", kMaps, R"({"metadata":{}})").body["message"].AsString(),
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(Call("POST", kMaps, "{").status, 400);
  EXPECT_EQ(Call("POST", kMaps, R"({"kind":"Pod","metadata":{"name":"a"}})").status, 400);
  EXPECT_EQ(Call("POST", "/api/v1/namespaces/none/configmaps", Map("a")).body["message"].AsString(),
            "namespaces \"none\" not found");
  EXPECT_EQ(Call("GET", "/api/v1/namespaces/default/widgets").status, 404);
  EXPECT_EQ(Call("GET", "/apis/batch/v1/jobs").status, 404);
  EXPECT_EQ(Call("POST", std::string(kMaps) + "/a", "{}").status, 405);
  EXPECT_EQ(Call("GET", std::string(kMaps) + "?fieldSelector=spec.x%3D1").status, 400);
}

TEST_F(Api, UpdatesOnlyTheVersionThatWasRead) {
  json::Value object = Call("POST", kMaps, Map("a")).body;
  object.MakeObject()["data"].Set("k", "2");
  const Reply first = Call("PUT", std::string(kMaps) + "/a", json::Write(object));
  EXPECT_EQ(first.status, 200);
  const Reply second = Call("PUT", std::string(kMaps) + "/a", json::Write(object));
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.body["reason"].AsString(), "Conflict");
  EXPECT_EQ(second.body["message"].AsString(),
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply "
            "your changes "
            "to the latest version and try again");
  // Writing what is there changes no version.
  const Reply same = Call("PUT", std::string(kMaps) + "/a", json::Write(first.body));
  EXPECT_EQ(same.body["metadata"]["resourceVersion"], first.body["metadata"]["resourceVersion"]);
}

TEST_F(Api, SelectsAndPages) {
  for (const char* name : {"a", "b", "c", "d"})
    Call("POST", kMaps, Map(name, "1", name == std::string("d") ? "y" : "x"));
  EXPECT_EQ(Get(std::string(kMaps) + "?labelSelector=app%3Dx")["items"].AsArray().size(), 3u);
  EXPECT_EQ(Get(std::string(kMaps) + "?labelSelector=app%20notin%20(x,z)")["items"].AsArray().size(), 1u);
  EXPECT_EQ(Get(std::string(kMaps) + "?labelSelector=!app")["items"].AsArray().size(), 0u);
  EXPECT_EQ(Get(std::string(kMaps) + "?fieldSelector=metadata.name%3Db")["items"].AsArray().size(), 1u);
  const json::Value page = Get(std::string(kMaps) + "?limit=3");
  EXPECT_EQ(page["items"].AsArray().size(), 3u);
  EXPECT_EQ(page["metadata"]["remainingItemCount"].AsInt(), 1);
  // What changes meanwhile does not show: the second page is of the first one's version.
  Call("DELETE", std::string(kMaps) + "/d");
  const std::string token = http::PercentEncode(page["metadata"]["continue"].AsString());
  const json::Value rest = Get(std::string(kMaps) + "?limit=3&continue=" + token);
  ASSERT_EQ(rest["items"].AsArray().size(), 1u);
  EXPECT_EQ(rest.At("items.0.metadata.name").AsString(), "d");
  EXPECT_FALSE(rest["metadata"].Contains("continue"));
}

TEST_F(Api, WatchesFromAVersionOn) {
  const json::Value list = Get(kMaps);
  const std::string version = list["metadata"]["resourceVersion"].AsString();
  Call("POST", kMaps, Map("a"));
  const Reply watch =
      Call("GET", std::string(kMaps) + "?watch=1&labelSelector=app%3Dx&resourceVersion=" + version);
  ASSERT_EQ(watch.status, 200);
  auto events = Events(Read(watch));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  Call("PATCH", std::string(kMaps) + "/a", R"({"data":{"k":"2"}})", "application/merge-patch+json");
  Call("PATCH", std::string(kMaps) + "/a", R"({"metadata":{"labels":{"app":"y"}}})",
       "application/merge-patch+json");
  Call("POST", kMaps, Map("b"));
  Call("DELETE", std::string(kMaps) + "/b");
  events = Events(Read(watch));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["type"].AsString(), "MODIFIED");
  EXPECT_EQ(events[1]["type"].AsString(), "DELETED");  // it left the selector
  EXPECT_EQ(events[2]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[3]["type"].AsString(), "DELETED");
}

TEST_F(Api, WakesAWatchThatWaits) {
  const Reply watch = Call("GET", std::string(kMaps) + "?watch=1");
  std::optional<Result<std::string>> piece;
  async::TaskGroup group(executor_);
  group.Spawn(Keep(watch.stream->Read(), piece));
  executor_.RunUntilIdle();
  EXPECT_FALSE(piece);
  Call("POST", kMaps, Map("a"));
  ASSERT_TRUE(piece);
  EXPECT_EQ(Events(**piece).size(), 1u);
}

TEST_F(Api, EndsAWatchAfterItsTimeAndSendsBookmarks) {
  const Reply watch = Call("GET", std::string(kMaps) + "?watch=1&timeoutSeconds=90&allowWatchBookmarks=true");
  const auto events = Events(Read(watch));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "BOOKMARK");
  EXPECT_EQ(Read(watch), "");
}

TEST_F(Api, SaysGoneForWhatTheHistoryNoLongerHolds) {
  options_.limits.max_history = 5;
  Kill();
  Boot();
  const Reply open = Call("GET", std::string(kMaps) + "?watch=1");
  const std::string version = Get(kMaps)["metadata"]["resourceVersion"].AsString();
  for (int i = 0; i < 9; ++i) Call("POST", kMaps, Map("m" + std::to_string(i)));
  const Reply late = Call("GET", std::string(kMaps) + "?watch=1&resourceVersion=" + version);
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(late.body["reason"].AsString(), "Expired");
  const auto events = Events(Read(open));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "ERROR");
  EXPECT_EQ(events[0]["object"]["code"].AsInt(), 410);
  EXPECT_EQ(Read(open), "");
}

TEST_F(Api, KeepsEverythingOverAKill) {
  MoveToDisk();
  const std::string identity = engine_->ClusterUid();
  const Reply made = Call("POST", kMaps, Map("a"));
  Call("POST", kMaps, Map("b"));
  Call("DELETE", std::string(kMaps) + "/b");
  const std::string version = Get(kMaps)["metadata"]["resourceVersion"].AsString();
  Kill();
  Boot();
  EXPECT_EQ(engine_->ClusterUid(), identity);
  EXPECT_EQ(Get(std::string(kMaps) + "/a"), made.body);
  EXPECT_EQ(Get(kMaps)["items"].AsArray().size(), 1u);
  EXPECT_EQ(Get(kMaps)["metadata"]["resourceVersion"].AsString(), version);  // it never goes back
  EXPECT_EQ(Call("GET", std::string(kMaps) + "?watch=1&resourceVersion=1").status, 410);
  EXPECT_EQ(Call("GET", std::string(kMaps) + "?watch=1&resourceVersion=999999").status, 504);
}

TEST_F(Api, EmptiesANamespaceBeforeItGoes) {
  EXPECT_EQ(Call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"proj-nlp"}})").status, 201);
  EXPECT_EQ(Call("GET", "/api/v1/namespaces/proj-nlp/serviceaccounts/default").status, 200);
  Call("POST", "/api/v1/namespaces/proj-nlp/configmaps", Map("a"));
  Call("POST", "/api/v1/namespaces/proj-nlp/configmaps",
       R"({"metadata":{"name":"held","finalizers":["example.com/hold"]}})");
  const Reply marked = Raw("DELETE", "/api/v1/namespaces/proj-nlp", "");
  EXPECT_EQ(marked.body["status"]["phase"].AsString(), "Terminating");
  EXPECT_EQ(Raw("POST", "/api/v1/namespaces/proj-nlp/configmaps", Map("b")).status, 403);
  const json::Value left = Get("/api/v1/namespaces/proj-nlp/configmaps");
  ASSERT_EQ(left["items"].AsArray().size(), 1u);
  EXPECT_EQ(left.At("items.0.metadata.name").AsString(), "held");
  Call("PATCH", "/api/v1/namespaces/proj-nlp/configmaps/held", R"({"metadata":{"finalizers":null}})",
       "application/merge-patch+json");
  EXPECT_EQ(Call("GET", "/api/v1/namespaces/proj-nlp").status, 404);
  EXPECT_EQ(Get("/api/v1/configmaps")["items"].AsArray().size(), 0u);
}

TEST_F(Api, AnswersDiscovery) {
  EXPECT_EQ(Get("/version")["major"].AsString(), "1");
  EXPECT_EQ(Get("/apis").At("groups.0.name").AsString(), "apps");
  EXPECT_GT(Get("/api/v1")["resources"].AsArray().size(), 10u);
  EXPECT_EQ(Get("/apis/apps/v1")["groupVersion"].AsString(), "apps/v1");
}

TEST_F(Api, PatchesInEveryForm) {
  Call("POST", kMaps, Map("a"));
  const std::string path = std::string(kMaps) + "/a";
  EXPECT_EQ(
      Call("PATCH", path, R"({"data":{"k":null,"l":"3"}})", "application/merge-patch+json").body["data"],
      json::Value(json::Object{{"l", "3"}}));
  const Reply operations =
      Call("PATCH", path,
           R"([{"op":"test","path":"/data/l","value":"3"},{"op":"add","path":"/data/m~1n","value":"4"}])",
           "application/json-patch+json");
  EXPECT_EQ(operations.body["data"]["m/n"].IsNull(), true);  // refused: no such key may be stored
  EXPECT_EQ(operations.status, 422);
  EXPECT_EQ(
      Call("PATCH", path, R"([{"op":"test","path":"/data/l","value":"9"}])", "application/json-patch+json")
          .status,
      422);
  EXPECT_EQ(Call("PATCH", path, "{}", "text/plain").status, 415);
  const Reply applied = Call("PATCH", std::string(kMaps) + "/new?fieldManager=t",
                             "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\ndata:\n  a: b\n",
                             "application/apply-patch+yaml");
  EXPECT_EQ(applied.status, 201) << applied.text;
  EXPECT_EQ(
      Call("PATCH", path, R"({"metadata":{"resourceVersion":"1"}})", "application/merge-patch+json").status,
      409);
}

TEST_F(Api, CollectsWhatIsOwned) {
  const std::string uid = Call("POST", kMaps, Map("owner")).body["metadata"]["uid"].AsString();
  const std::string reference =
      R"("ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":")" + uid +
      R"(","blockOwnerDeletion":true}])";
  const auto dependent = [&](const std::string& name) {
    return R"({"metadata":{"name":")" + name + "\"," + reference + "}}";
  };
  Call("POST", kMaps, dependent("one"));
  Call("DELETE", std::string(kMaps) + "/owner", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(Get(kMaps)["items"].AsArray().size(), 0u);
  // An owner that never was: collected, too.
  Call("POST", kMaps, dependent("two"));
  EXPECT_EQ(Get(kMaps)["items"].AsArray().size(), 0u);
}

TEST_F(Api, LeavesOrphansWhenAsked) {
  const std::string uid = Call("POST", kMaps, Map("owner")).body["metadata"]["uid"].AsString();
  Call(
      "POST", kMaps,
      R"({"metadata":{"name":"child","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":")" +
          uid + R"("}]}})");
  Call("DELETE", std::string(kMaps) + "/owner?propagationPolicy=Orphan");
  const json::Value left = Get(kMaps);
  ASSERT_EQ(left["items"].AsArray().size(), 1u);
  EXPECT_FALSE(left.At("items.0.metadata").Contains("ownerReferences"));
}

}  // namespace
}  // namespace cubeplane::engine
