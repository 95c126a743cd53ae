// Projects and workloads over the API: creating, reading, changing, refusing.
#include <gtest/gtest.h>

#include "apiserver/testing/api_fixture.h"
#include "base/strings.h"

namespace cubeplane::apiserver {
namespace {

using testing::ApiFixture;
using testing::Ask;

constexpr const char* kJobs = "/api/v1/projects/demo/trainingjobs";

std::string Job(const std::string& name, const std::string& more = "") {
  return R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":")" + name +
         R"("},"spec":{"command":["true"])" + more + "}}";
}

class ObjectsTest : public ApiFixture {
 protected:
  http::Response Post(const std::string& body, http::Headers headers = {}, const std::string& query = "") {
    return Send({.method = "POST",
                 .target = kJobs + query,
                 .as = "member-1",
                 .body = body,
                 .headers = std::move(headers)});
  }
};

TEST_F(ObjectsTest, AJobIsAcceptedReadListedAndRemoved) {
  const http::Response made = Post(Job("bert"));
  ASSERT_EQ(made.status, 201) << made.body;
  const json::Value object = Json(made);
  EXPECT_EQ(object["metadata"]["owner"].AsString(), "member-1");
  EXPECT_EQ(object["metadata"]["project"].AsString(), "demo");
  EXPECT_EQ(object["status"]["phase"].AsString(), "waiting");
  EXPECT_EQ(made.headers.Get("ETag"), "\"" + object["metadata"]["resourceVersion"].AsString() + "\"");
  const http::Response read = Send({.target = std::string(kJobs) + "/bert", .as = "viewer-1"});
  EXPECT_EQ(Json(read), object);
  const json::Value list = Json(Send({.target = "/api/v1/trainingjobs", .as = "viewer-1"}));
  EXPECT_EQ(list["kind"].AsString(), "TrainingJobList");
  ASSERT_EQ(list["items"].AsArray().size(), 1u);
  EXPECT_EQ(Json(Send({.target = "/api/v1/trainingjobs", .as = "stranger-1"}))["items"].AsArray().size(), 0u);
  EXPECT_EQ(Send({.method = "DELETE", .target = std::string(kJobs) + "/bert", .as = "member-1"}).status, 200);
}

TEST_F(ObjectsTest, YamlIsReadAndOtherTypesAre415) {
  const std::string yaml =
      "apiVersion: cubeplane.io/v1\nkind: TrainingJob\nmetadata: {name: y}\nspec: {command: [python, "
      "t.py]}\n";
  Ask ask{.method = "POST", .target = kJobs, .as = "member-1", .body = yaml, .type = "text/yaml"};
  EXPECT_EQ(Send(ask).status, 201);
  for (const char* type : {"text/plain", "application/xml", ""}) {
    ask.type = type;
    const http::Response refused = Send(ask);
    EXPECT_EQ(refused.status, 415) << type;
    EXPECT_EQ(CodeOf(refused), "media_type_unsupported");
  }
  ask.type = "application/yaml";
  ask.body = yaml + "---\n" + yaml;
  EXPECT_EQ(Send(ask).status, 400) << "two documents";
  ask.body = "a: [1";
  const http::Response broken = Send(ask);
  EXPECT_EQ(broken.status, 400);
  EXPECT_NE(broken.body.find("line"), std::string::npos) << broken.body;
}

TEST_F(ObjectsTest, EveryProblemOfAnObjectIsNamedWithItsFieldAndNothingIsStored) {
  const http::Response refused = Post(
      R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":"Bert_FT"},"spec":{"comand":["x"],"resources":{"cpu":"-1","memory":"128q"}}})");
  EXPECT_EQ(refused.status, 422) << refused.body;
  std::set<std::string> fields;
  for (const json::Value& cause : Json(refused)["details"]["causes"].AsArray()) {
    fields.insert(cause["field"].AsString());
    EXPECT_FALSE(cause["allowed"].AsString().empty());
    EXPECT_FALSE(cause["message"].AsString().empty());
  }
  EXPECT_TRUE(fields.contains("spec.comand")) << refused.body;
  EXPECT_TRUE(fields.contains("spec.resources.memory")) << refused.body;
  EXPECT_TRUE(Json(Send({.target = kJobs, .as = "member-1"}))["items"].AsArray().empty());
}

TEST_F(ObjectsTest, KindProjectAndNameMustBeThoseOfThePath) {
  EXPECT_EQ(
      Send(
          {.method = "POST", .target = "/api/v1/projects/demo/notebooks", .as = "member-1", .body = Job("x")})
          .status,
      422);
  const std::string other =
      R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":"x","project":"cv"},"spec":{"command":["true"]}})";
  EXPECT_EQ(Json(Post(other))["details"]["causes"].AsArray().front()["field"].AsString(), "metadata.project");
  EXPECT_EQ(
      Send({.method = "PUT", .target = std::string(kJobs) + "/y", .as = "member-1", .body = Job("x")}).status,
      422);
}

TEST_F(ObjectsTest, ErrorsAreStatusObjectsInTheLanguageAskedFor) {
  const http::Response en = Send({.target = std::string(kJobs) + "/none", .as = "member-1"});
  const http::Response zh = Send({.target = std::string(kJobs) + "/none",
                                  .as = "member-1",
                                  .headers = {{"Accept-Language", "zh-CN,zh;q=0.9"}}});
  const json::Value status = Json(en);
  EXPECT_EQ(en.status, 404);
  EXPECT_EQ(status["kind"].AsString(), "Status");
  EXPECT_EQ(status["status"].AsString(), "Failure");
  EXPECT_EQ(status["reason"].AsString(), "NotFound");
  EXPECT_EQ(status["code"].AsInt(), 404);
  EXPECT_EQ(status["details"]["code"].AsString(), "workload_not_found");
  EXPECT_EQ(status["details"]["params"]["name"].AsString(), "none");
  EXPECT_EQ(status["details"]["requestId"].AsString(), en.headers.Get("X-Request-Id"));
  EXPECT_NE(status["message"].AsString(), Json(zh)["message"].AsString());
  EXPECT_EQ(CodeOf(zh), "workload_not_found");
}

TEST_F(ObjectsTest, TheSameIdempotencyKeyGivesTheFirstAnswerAndAnotherBodyIs422) {
  const http::Headers key{{"Idempotency-Key", "k-1"}};
  const http::Response first = Post(Job("once"), key);
  ASSERT_EQ(first.status, 201);
  const http::Response again = Post(Job("once"), key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(Json(again)["metadata"]["uid"], Json(first)["metadata"]["uid"]);
  EXPECT_EQ(again.headers.Get("Idempotent-Replayed"), "true");
  EXPECT_EQ(Post(Job("twice"), key).status, 422);
  EXPECT_EQ(Post(Job("once")).status, 409) << "the same name without the key";
  EXPECT_EQ(Post(Job("x"), {{"Idempotency-Key", "a b"}}).status, 400);
}

TEST_F(ObjectsTest, ADryRunAnswersAndStoresNothing) {
  EXPECT_EQ(Post(Job("dry"), {}, "?dryRun=All").status, 201);
  EXPECT_EQ(Send({.target = std::string(kJobs) + "/dry", .as = "member-1"}).status, 404);
  EXPECT_EQ(Post(Job("dry"), {}, "?dryRun=yes").status, 400);
}

TEST_F(ObjectsTest, ANotebookBeyondTheQuotaIsRefusedAtOnceWithTheNumbers) {
  const std::string body =
      R"({"apiVersion":"cubeplane.io/v1","kind":"Notebook","metadata":{"name":"big"},"spec":{"resources":{"cpu":"3","memory":"1Gi"}}})";
  Ask ask{.method = "POST", .target = "/api/v1/projects/demo/notebooks", .as = "member-1", .body = body};
  ASSERT_EQ(Send(ask).status, 201);
  ask.body.replace(ask.body.find("big"), 3, "two");
  const http::Response refused = Send(ask);
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_NE(refused.body.find("requests.cpu"), std::string::npos) << refused.body;
}

TEST_F(ObjectsTest, AChangeOnAnOldVersionIsAConflict) {
  const std::string target = "/api/v1/projects/demo";
  const http::Response read = Send({.target = target, .as = "admin"});
  json::Value object = Json(read);
  object.MakeObject().Erase("status");
  object.MakeObject()["spec"].Set("displayName", "New");
  const Ask put{.method = "PUT", .target = target, .as = "admin", .body = json::Write(object)};
  EXPECT_EQ(Send(put).status, 200);
  const http::Response second = Send(put);
  EXPECT_EQ(second.status, 409) << second.body;
  object["metadata"];
  object.MakeObject()["metadata"].Erase("resourceVersion");
  object.MakeObject()["spec"].Set("displayName", "Newer");
  EXPECT_EQ(Send({.method = "PUT",
                  .target = target,
                  .as = "admin",
                  .body = json::Write(object),
                  .headers = {{"If-Match", "\"1\""}}})
                .status,
            409);
  EXPECT_EQ(Send({.method = "PUT",
                  .target = target,
                  .as = "admin",
                  .body = json::Write(object),
                  .headers = {{"If-Match", "x"}}})
                .status,
            400);
  EXPECT_EQ(Send({.method = "PUT", .target = target, .as = "admin", .body = json::Write(object)}).status,
            200);
}

TEST_F(ObjectsTest, ALeadChangesMembersButNotWhatTheProjectMayUse) {
  json::Value object = Json(Send({.target = "/api/v1/projects/demo", .as = "lead-1"}));
  EXPECT_TRUE(object["status"]["bindings"].IsArray());
  object.MakeObject().Erase("status");
  json::Value more = object;
  more.MakeObject()["spec"].MakeObject()["members"].MakeArray().push_back(
      json::Object{{"user", "stranger-1"}, {"role", "viewer"}});
  EXPECT_EQ(
      Send({.method = "PUT", .target = "/api/v1/projects/demo", .as = "lead-1", .body = json::Write(more)})
          .status,
      200);
  EXPECT_EQ(Send({.target = "/api/v1/projects/demo", .as = "stranger-1"}).status, 200);
  json::Value bigger = object;
  bigger.MakeObject()["metadata"].Erase("resourceVersion");
  bigger.MakeObject()["spec"].MakeObject()["bindings"].MakeArray().front().MakeObject()["quota"].Set(
      "requests.cpu", "400");
  const http::Response refused =
      Send({.method = "PUT", .target = "/api/v1/projects/demo", .as = "lead-1", .body = json::Write(bigger)});
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(CodeOf(refused), "lead_changes_members_only");
}

TEST_F(ObjectsTest, ListsComeInPagesAndBySelector) {
  for (int i = 0; i < 5; ++i) {
    const std::string labels = i % 2 == 0 ? "even" : "odd";
    const std::string body = R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":"j)" +
                             std::to_string(i) + R"(","labels":{"parity":")" + labels +
                             R"("}},"spec":{"command":["true"]}})";
    clock_.Advance(std::chrono::milliseconds(1));  // uids, and with them the order, are of the time
    ASSERT_EQ(Post(body).status, 201);
  }
  std::vector<std::string> names;
  std::string next;
  for (int pages = 0; pages < 3; ++pages) {
    const json::Value page =
        Json(Send({.target = std::string(kJobs) + "?limit=2" + (next.empty() ? "" : "&continue=" + next),
                   .as = "member-1"}));
    for (const json::Value& item : page["items"].AsArray())
      names.push_back(item["metadata"]["name"].AsString());
    next = page["metadata"]["continue"].AsString();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"j0", "j1", "j2", "j3", "j4"}));
  EXPECT_TRUE(next.empty());
  const auto count = [&](const std::string& selector) {
    return Json(Send({.target = std::string(kJobs) + "?labelSelector=" + http::PercentEncode(selector),
                      .as = "member-1"}))["items"]
        .AsArray()
        .size();
  };
  EXPECT_EQ(count("parity=odd"), 2u);
  EXPECT_EQ(count("parity!=odd"), 3u);
  EXPECT_EQ(count("parity in (odd, even)"), 5u);
  EXPECT_EQ(count("!parity"), 0u);
  EXPECT_EQ(count("parity notin (odd),parity"), 3u);
  for (const char* bad :
       {"limit=0", "limit=501", "limit=x", "labelSelector=a%20b", "colour=red", "watch=maybe", "a=%zz"}) {
    EXPECT_EQ(Send({.target = std::string(kJobs) + "?" + bad, .as = "member-1"}).status, 400) << bad;
  }
}

TEST_F(ObjectsTest, UnknownPathsAndMethodsAreSaidWithWhatIsThere) {
  EXPECT_EQ(Send({.target = "/api/v1/nothing", .as = "admin"}).status, 404);
  EXPECT_EQ(Send({.target = "/api/v1/projects//notebooks", .as = "admin"}).status, 404);
  EXPECT_EQ(Send({.target = "/api/v1/projects/%zz", .as = "admin"}).status, 400);
  const http::Response wrong = Send({.method = "PATCH", .target = "/api/v1/projects/demo", .as = "admin"});
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.Get("Allow"), "GET, PUT, DELETE");
}

TEST_F(ObjectsTest, BodiesBeyondTheirBoundAre413) {
  const http::Response archive = Send({.method = "POST",
                                       .target = "/api/v1/code",
                                       .as = "member-1",
                                       .body = "\x1f\x8b" + std::string(kMaxArchive, 'x'),
                                       .type = "application/gzip"});
  EXPECT_EQ(archive.status, 413);
  EXPECT_EQ(Post(std::string(kMaxBody + 1, ' ')).status, 413);
}

TEST_F(ObjectsTest, CodeIsKnownByItsDigest) {
  const std::string bytes = "\x1f\x8b rest";
  const Ask ask{.method = "POST",
                .target = "/api/v1/code",
                .as = "member-1",
                .body = bytes,
                .type = "application/gzip"};
  const http::Response made = Send(ask);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string digest = Json(made)["digest"].AsString();
  EXPECT_EQ(digest, "sha256:" + Sha256Hex(bytes));
  EXPECT_EQ(Send(ask).status, 201) << "again is harmless";
  const auto put = [&](const std::string& to) {
    return Send({.method = "PUT",
                 .target = "/api/v1/code/" + http::PercentEncode(to),
                 .as = "member-1",
                 .body = bytes,
                 .type = "application/gzip"})
        .status;
  };
  EXPECT_EQ(put(digest), 201);
  EXPECT_EQ(put("sha256:" + std::string(64, '0')), 422);
  EXPECT_EQ(Send({.method = "POST",
                  .target = "/api/v1/code",
                  .as = "member-1",
                  .body = "plain",
                  .type = "application/gzip"})
                .status,
            422);
  EXPECT_EQ(CodeOf(Send({.method = "POST",
                         .target = "/api/v1/code",
                         .as = "stranger-1",
                         .body = bytes,
                         .type = "application/gzip"})),
            "no_project");
}

TEST_F(ObjectsTest, ExplainSaysWhyAndWhoIsAhead) {
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(Post(Job(name, R"(,"resources":{"cpu":"3","memory":"1Gi"})")).status, 201);
  }
  ASSERT_TRUE(Run(ledger_->AdmitWaiting()));
  ASSERT_EQ(Post(Job("c", R"(,"resources":{"cpu":"3","memory":"1Gi"})")).status, 201);
  ASSERT_TRUE(Run(ledger_->AdmitWaiting()));
  const http::Response response = Send({.target = std::string(kJobs) + "/c/explain", .as = "viewer-1"});
  const json::Value answer = Json(response);
  EXPECT_EQ(answer["phase"].AsString(), "waiting");
  EXPECT_EQ(answer["place"].AsInt(), 2);
  ASSERT_EQ(answer["ahead"].AsArray().size(), 1u) << response.body;
  EXPECT_EQ(answer["ahead"].AsArray()[0]["name"].AsString(), "b");
  EXPECT_FALSE(answer["message"].AsString().empty());
  EXPECT_FALSE(answer["reasons"].AsArray().empty());
}

TEST_F(ObjectsTest, StatusCountsOnlyWhatTheCallerMaySee) {
  ASSERT_EQ(Post(Job("w")).status, 201);
  const json::Value member = Json(Send({.target = "/api/v1/status", .as = "member-1"}));
  EXPECT_EQ(member["waiting"]["workloads"].AsInt(), 1);
  EXPECT_EQ(member["waiting"]["longest"]["name"].AsString(), "w");
  EXPECT_EQ(member["control"]["store"].AsString(), "ok");
  EXPECT_FALSE(member["reserved"].AsArray().empty());
  const json::Value stranger = Json(Send({.target = "/api/v1/status", .as = "stranger-1"}));
  EXPECT_EQ(stranger["waiting"]["workloads"].AsInt(), 0);
  EXPECT_TRUE(stranger["reserved"].AsArray().empty());
}

TEST_F(ObjectsTest, AuditTellsWhoDidWhatToTheAdminOnly) {
  ASSERT_EQ(Post(Job("seen")).status, 201);
  const json::Value records = Json(Send({.target = "/api/v1/audit", .as = "admin"}));
  bool found = false;
  for (const json::Value& record : records["items"].AsArray()) {
    found |= record["principal"].AsString() == "member-1" &&
             record["object"].AsString().find("seen") != std::string::npos;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(Send({.target = "/api/v1/audit", .as = "lead-1"}).status, 403);
}

}  // namespace
}  // namespace cubeplane::apiserver
