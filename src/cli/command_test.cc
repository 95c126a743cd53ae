// Whole commands against a real HTTP server on a Unix socket.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cli/context.h"
#include "cli/testing/fake_api.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

const char kJob[] =
    R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":"digits","project":"demo","owner":"admin",)"
    R"("uid":"u1","resourceVersion":"7","createdAt":"2026-01-01T00:00:00.000Z"},"spec":{"resources":{"cpu":"500m","memory":"1Gi"}},)"
    R"("status":{"phase":"PHASE","attempts":[{"number":1,"node":"n1"}],"reason":{"code":"x","message":"because of \u001b[31m it"}}})";
const char kRefusal[] =
    R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"R","code":CODE,"message":"no way",)"
    R"("details":{"code":"WHAT","next":"Do that.","requestId":"r-1","causes":[{"field":"spec.cpu","found":"x","allowed":"a number"}]}})";

std::string With(std::string text, const std::string& what, const std::string& by) {
  return std::regex_replace(text, std::regex(what), by);
}
std::string Job(const std::string& phase) { return With(kJob, "PHASE", phase); }

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The person's own settings must not reach the test.
    for (const char* name : {"CUBEPLANE_SERVER", "CUBEPLANE_DATA", "CUBEPLANE_TOKEN", "CUBEPLANE_PROJECT"})
      unsetenv(name);
    setenv("XDG_CONFIG_HOME", (api_.data() + "/config").c_str(), 1);
  }
  Exit Run(std::vector<std::string> args, bool with_data = true) {
    out_.str("");
    err_.str("");
    if (with_data) args.insert(args.end(), {"--data", api_.data()});
    return RunCommand(args, terminal_);
  }
  FakeApi api_;
  std::ostringstream out_, err_;
  Terminal terminal_{.out = out_, .err = err_};
};

TEST_F(CommandTest, GetPrintsATableWithTheReasonMadeHarmless) {
  api_.On("GET /api/v1/projects/demo/trainingjobs", 200,
          R"({"kind":"TrainingJobList","metadata":{},"items":[)" + Job("waiting") + "]}");
  EXPECT_EQ(Run({"get", "jobs", "-p", "demo"}), kDone);
  EXPECT_EQ(out_.str(),
            "NAME    STATE    WHO    AGE                       WHY / ADDRESS\n"
            "digits  waiting  admin  2026-01-01T00:00:00.000Z  because of ·[31m it\n");
  terminal_.language = model::Language::kZh;
  EXPECT_EQ(Run({"get", "jobs", "-p", "demo", "--no-headers"}), kDone);
  EXPECT_EQ(out_.str().substr(0, 19), "digits  排队中  ");
  EXPECT_EQ(api_.Requests().back().headers.Get("Accept-Language"), "zh-CN");
}

TEST_F(CommandTest, GetJoinsPagesAndPrintsTheObjectsOfTheApi) {
  api_.On("GET /api/v1/trainingjobs", [](const http::Request& request) {
    http::Response response;
    const bool second = request.target.find("continue=c1") != std::string::npos;
    response.body = R"({"kind":"TrainingJobList","metadata":{"continue":")" +
                    std::string(second ? "" : "c1") + R"("},"items":[)" + Job("running") + "]}";
    return response;
  });
  EXPECT_EQ(Run({"get", "jobs", "-o", "json"}), kDone);
  const Result<json::Value> list = json::Parse(out_.str());
  ASSERT_TRUE(list);
  EXPECT_EQ((*list)["items"].AsArray().size(), 2u);
  EXPECT_EQ((*list)["items"].AsArray()[0], *json::Parse(Job("running")));
  EXPECT_EQ(Run({"get", "jobs", "-o", "name"}), kDone);
  EXPECT_EQ(out_.str(), "trainingjob/digits\ntrainingjob/digits\n");
}

TEST_F(CommandTest, ExitCodesTellWhatHappened) {
  const std::tuple<int, std::string, Exit> cases[] = {{401, "", kNotAllowed},
                                                      {403, "role_missing", kNotAllowed},
                                                      {403, "quota_exceeded", kQuota},
                                                      {404, "", kNotFound},
                                                      {409, "", kConflict},
                                                      {422, "pools_exceed_quota", kInvalid},
                                                      {422, "never_fits_node", kQuota},
                                                      {507, "", kStore},
                                                      {504, "", kTimeout},
                                                      {503, "", kNoCubeplane},
                                                      {500, "", kFailed}};
  for (const auto& [status, code, exit] : cases) {
    api_.On("GET /api/v1/status", status, With(With(kRefusal, "CODE", std::to_string(status)), "WHAT", code));
    EXPECT_EQ(Run({"status"}), exit) << status << " " << code;
    EXPECT_EQ(err_.str().substr(0, 18), "cubeplane: no way\n");
    EXPECT_NE(err_.str().find("  spec.cpu: found x; allowed: a number\nDo that.\nrequest r-1\n"),
              std::string::npos);
    EXPECT_EQ(out_.str(), "");
  }
  EXPECT_EQ(Run({"status", "-o", "json"}), kFailed);
  EXPECT_TRUE(json::Parse(err_.str()));
}

TEST_F(CommandTest, UsageErrorsAndNoCubeplane) {
  EXPECT_EQ(Run({"status", "--nonsense"}), kUsage);
  EXPECT_NE(err_.str().find("--nonsense is not expected here."), std::string::npos) << err_.str();
  EXPECT_EQ(Run({}, false), kUsage);
  EXPECT_NE(err_.str().find("A command is missing."), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"nonsense"}, false), kUsage);
  EXPECT_NE(err_.str().find("nonsense is no command."), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"get", "pods"}), kUsage);
  EXPECT_EQ(Run({"status"}, false), kNoCubeplane);
  EXPECT_EQ(Run({"status", "--data", "/nonexistent"}, false), kNoCubeplane);
  EXPECT_EQ(Run({"status", "--server", "http://example.com"}, false), kUsage);
  EXPECT_NE(err_.str().find("https"), std::string::npos);
  EXPECT_EQ(Run({"status", "--server", "http://localhost:1"}, false), kNoCubeplane);
  terminal_.language = model::Language::kZh;
  EXPECT_EQ(Run({"--help"}, false), kDone);
  EXPECT_NE(out_.str().find("查看任务或 Notebook 的输出"), std::string::npos);
}

TEST_F(CommandTest, ApplySendsProjectsFirstAndTellsWhatChanged) {
  const std::string folder = api_.data() + "/manifests";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/a.yaml")
      << "apiVersion: cubeplane.io/v1\nkind: Notebook\nmetadata: {name: nb, project: demo}\n";
  std::ofstream(folder + "/b.yaml") << "apiVersion: cubeplane.io/v1\nkind: Project\nmetadata: {name: demo}\n";
  std::vector<std::string> kinds;
  api_.On("GET /api/v1/projects/demo", 200,
          R"({"kind":"Project","metadata":{"name":"demo","resourceVersion":"1"},"spec":{"weight":1}})");
  api_.On("POST /api/v1/apply", [&](const http::Request& request) {
    const std::string kind = (*json::Parse(request.body))["kind"].AsString();
    kinds.push_back(kind);
    http::Response response;
    response.status = kind == "Project" ? 200 : 201;
    response.body =
        kind == "Project"
            ? R"({"kind":"Project","metadata":{"name":"demo","resourceVersion":"2"},"spec":{"weight":1}})"
            : R"({"kind":"Notebook","metadata":{"name":"nb","project":"demo"}})";
    return response;
  });
  EXPECT_EQ(Run({"apply", "-f", folder}), kDone) << err_.str();
  EXPECT_EQ(kinds, (std::vector<std::string>{"Project", "Notebook"}));
  EXPECT_EQ(out_.str(), "project/demo unchanged\nnotebook/nb created\n");
}

TEST_F(CommandTest, DeleteAsksAndWithoutATerminalNamesTheFlag) {
  api_.On("GET /api/v1/projects/demo/trainingjobs/digits", 200, Job("running"));
  api_.On("DELETE /api/v1/projects/demo/trainingjobs/digits", 200, Job("stopping"));
  EXPECT_EQ(Run({"delete", "digits", "-p", "demo"}), kUsage);
  EXPECT_NE(err_.str().find("--yes"), std::string::npos);
  for (const http::Request& request : api_.Requests()) EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(Run({"delete", "digits", "-p", "demo", "--yes"}), kDone);
  EXPECT_EQ(out_.str(), "trainingjob/digits deleted\n");
}

TEST_F(CommandTest, SubmitPacksTheFolderAndCreatesTheJob) {
  const std::string folder = api_.data() + "/job";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/job.yaml") << "apiVersion: cubeplane.io/v1\nkind: TrainingJob\nmetadata: {name: "
                                         "digits}\nspec: {command: [python, train.py]}\n";
  std::ofstream(folder + "/train.py") << "print(1)\n";
  api_.On("GET /api/v1/projects", 200, R"({"items":[{"metadata":{"name":"demo"}}]})");
  api_.On("POST /api/v1/code", 201, R"({"digest":"sha256:abc","bytes":100})");
  api_.On("POST /api/v1/projects/demo/trainingjobs", 201, Job("waiting"));
  EXPECT_EQ(Run({"submit", folder, "--name", "digits-2"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "trainingjob/digits accepted\n");
  EXPECT_NE(err_.str().find("cubeplane logs -f trainingjob/digits -p demo"), std::string::npos);
  const http::Request last = api_.Requests().back();
  const Result<json::Value> sent = json::Parse(last.body);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->At("spec.code").AsString(), "sha256:abc");
  EXPECT_EQ(sent->At("metadata.name").AsString(), "digits-2");
  EXPECT_EQ(sent->At("metadata.project").AsString(), "demo");
  EXPECT_EQ(last.headers.Get("Idempotency-Key").size(), 32u);
  EXPECT_EQ(Run({"submit", folder, "--dry-run"}), kDone);
  EXPECT_EQ(api_.Requests().back().target, "/api/v1/projects/demo/trainingjobs?dryRun=All");
}

TEST_F(CommandTest, ACreateWhoseAnswerWasLostIsSentAgainWithTheSameKey) {
  api_.On("GET /api/v1/projects/demo/notebooks/nb", 200,
          R"({"kind":"Notebook","metadata":{"name":"nb","project":"demo"}})");
  std::vector<std::string> keys;
  api_.On("POST /api/v1/projects/demo/notebooks/nb/start", [&](const http::Request& request) {
    keys.emplace_back(request.headers.Get("Idempotency-Key"));
    http::Response response;
    if (keys.size() == 1) {
      response.stream = Pieces({"{"}, true);
    } else {
      response.body = R"({"kind":"Notebook","metadata":{"name":"nb","project":"demo"}})";
    }
    return response;
  });
  EXPECT_EQ(Run({"start", "notebook/nb", "-p", "demo"}), kDone) << err_.str();
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0].size(), 32u);
}

TEST_F(CommandTest, FollowedLogGoesOnAfterABrokenStream) {
  int streams = 0;
  bool over = false;
  api_.On("GET /api/v1/projects/demo/trainingjobs/digits", [&](const http::Request&) {
    http::Response response;
    response.body = Job(over ? "succeeded" : "running");
    return response;
  });
  api_.On("GET /api/v1/projects/demo/trainingjobs/digits/log", [&](const http::Request& request) {
    EXPECT_NE(request.target.find("attempt=1"), std::string::npos);
    http::Response response;
    if (++streams == 1) {
      response.stream = Pieces({"2026-01-01T00:00:00.1Z one\n2026-01-01T00:00:00.2Z t"}, true);
    } else {
      over = true;
      response.stream = Pieces({"2026-01-01T00:00:00.1Z one\n2026-01-01T00:00:00.2Z two\n"}, false);
    }
    return response;
  });
  EXPECT_EQ(Run({"logs", "-f", "job/digits", "-p", "demo"}), kDone);
  EXPECT_EQ(out_.str(), "one\ntwo\n");
  EXPECT_GE(streams, 2);
}

TEST_F(CommandTest, ALogThatIsWholeIsFollowedByTheResult) {
  api_.On("GET /api/v1/projects/demo/trainingjobs/digits", 200,
          R"({"kind":"TrainingJob","metadata":{"name":"digits","project":"demo"},)"
          R"("status":{"phase":"succeeded","result":{"accuracy":0.97}}})");
  api_.On("GET /api/v1/projects/demo/trainingjobs/digits/log", [](const http::Request&) {
    http::Response response;
    response.body = "one\n";
    return response;
  });
  EXPECT_EQ(Run({"logs", "job/digits", "-p", "demo"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "one\n");
  EXPECT_NE(err_.str().find(R"({"accuracy":0.97})"), std::string::npos) << err_.str();
}

TEST_F(CommandTest, ANameIsLookedForAmongAllKinds) {
  api_.On("GET /api/v1/projects/demo/notebooks/nb", 200,
          R"({"kind":"Notebook","metadata":{"name":"nb","project":"demo"},"status":{"phase":"running"}})");
  api_.On("POST /api/v1/projects/demo/notebooks/nb/stop", 200,
          R"({"kind":"Notebook","metadata":{"name":"nb","project":"demo"}})");
  EXPECT_EQ(Run({"stop", "nb", "-p", "demo"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "notebook/nb stopping\n");
  EXPECT_EQ(Run({"stop", "none", "-p", "demo"}), kNotFound);
  api_.On("GET /api/v1/projects/demo/trainingjobs/nb", 200, Job("running"));
  EXPECT_EQ(Run({"stop", "nb", "-p", "demo"}), kUsage);
  EXPECT_NE(err_.str().find("job/nb or notebook/nb"), std::string::npos);
}

TEST_F(CommandTest, EveryCommandHasHelpAndCompletion) {
  for (const CommandInfo& command : AllCommands(model::Language::kEn)) {
    std::vector<std::string> words;
    std::istringstream split(command.name);
    for (std::string word; split >> word;) words.push_back(word);
    words.push_back("--help");
    EXPECT_EQ(Run(words, false), kDone) << command.name;
    EXPECT_NE(out_.str().find(command.description), std::string::npos) << command.name;
  }
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(Run({"completion", shell}, false), kDone);
    EXPECT_NE(out_.str().find("describe"), std::string::npos);
  }
  std::ofstream(api_.data() + "/c.sh") << (Run({"completion", "bash"}, false), out_.str());
  EXPECT_EQ(std::system(("bash -n " + api_.data() + "/c.sh").c_str()), 0);
}

TEST_F(CommandTest, LoginKeepsTheTokenForTheOwnerOnly) {
  EXPECT_EQ(Run({"login", "--server", "http://localhost:1", "-u", "admin"}, false), kUsage);
  EXPECT_NE(err_.str().find("--password-stdin"), std::string::npos);
  ASSERT_TRUE(WriteSaved({"http://localhost:1", "cpt_x", "demo"}, terminal_));
  EXPECT_EQ(ReadSaved().token, "cpt_x");
  EXPECT_EQ(std::filesystem::status(SavedPath()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace cubeplane::cli
