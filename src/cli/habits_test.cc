// kubectl's habits (-o, -w, -l, -f -, --dry-run) and what people see while they wait, against a real HTTP
// server.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "cli/context.h"
#include "cli/testing/fake_api.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

const char kNotebook[] =
    R"({"apiVersion":"cubeplane.io/v1","kind":"Notebook","metadata":{"name":"nb","project":"demo","owner":"ann",)"
    R"("uid":"u-7","resourceVersion":"7","createdAt":"2026-01-01T00:00:00.000Z"},)"
    R"("spec":{"resources":{"cpu":"500m","memory":"1Gi"}},)"
    R"("status":{"phase":"running","address":"http://nb--demo.localhost:8080","attempts":[{"number":1,"node":"n1"}]}})";

class HabitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The person's own settings must not reach the test.
    for (const char* name : {"CUBEPLANE_SERVER", "CUBEPLANE_DATA", "CUBEPLANE_TOKEN", "CUBEPLANE_PROJECT"})
      unsetenv(name);
    setenv("XDG_CONFIG_HOME", (api_.data() + "/config").c_str(), 1);
  }
  Exit Run(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    args.insert(args.end(), {"--data", api_.data()});
    return RunCommand(args, terminal_);
  }
  FakeApi api_;
  std::ostringstream out_, err_;
  Terminal terminal_{.out = out_, .err = err_};
};

TEST_F(HabitsTest, OutputFormatsAreKubectls) {
  api_.On("GET /api/v1/projects/demo/notebooks/nb", 200, kNotebook);
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "wide"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(),
            "NAME  STATE    WHO  AGE                       ASKS            NODE  UID  WHY / ADDRESS\n"
            "nb    running  ann  2026-01-01T00:00:00.000Z  0.5 cores, 1Gi  n1    u-7  "
            "http://nb--demo.localhost:8080\n");
  EXPECT_EQ(Run({"get", "notebook", "nb", "-p", "demo", "-o", "yaml"}), kDone);
  const Result<std::vector<json::Value>> yaml = json::ParseYaml(out_.str());
  ASSERT_TRUE(yaml && yaml->size() == 1) << out_.str();
  EXPECT_EQ(yaml->front(), *json::Parse(kNotebook));
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "json"}), kDone);
  EXPECT_EQ(*json::Parse(out_.str()), *json::Parse(kNotebook));
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "name"}), kDone);
  EXPECT_EQ(out_.str(), "notebook/nb\n");
  EXPECT_EQ(Run({"get", "notebook/nb", "-o", "xml"}), kUsage);
}

TEST_F(HabitsTest, TheSelectorGoesToTheServer) {
  api_.On("GET /api/v1/projects/demo/notebooks", 200, R"({"kind":"NotebookList","metadata":{},"items":[]})");
  EXPECT_EQ(Run({"get", "notebooks", "-p", "demo", "-l", "team in (a,b)"}), kDone);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "Nothing found.\n");
  EXPECT_NE(api_.Requests().back().target.find("labelSelector=team%20in%20%28a%2Cb%29"), std::string::npos)
      << api_.Requests().back().target;
}

TEST_F(HabitsTest, AWatchPrintsALineAChangeAndGoesOnWhereItWas) {
  std::vector<std::string> watches;
  api_.On("GET /api/v1/projects/demo/notebooks", [&](const http::Request& request) {
    http::Response response;
    if (request.target.find("watch=true") == std::string::npos) {
      response.body = R"({"kind":"NotebookList","metadata":{"resourceVersion":"5"},"items":[]})";
      return response;
    }
    watches.push_back(request.target);
    if (watches.size() == 1) {
      response.stream = Pieces({R"({"type":"MODIFIED","object":)" + std::string(kNotebook) + "}\n"}, true);
    } else {
      response.status = 403;
      response.body =
          R"({"kind":"Status","code":403,"message":"no longer","details":{"code":"role_missing"}})";
    }
    return response;
  });
  EXPECT_EQ(Run({"get", "notebooks", "-p", "demo", "-w", "-o", "json"}), kNotAllowed);
  EXPECT_EQ(out_.str(), json::Write(*json::Parse(kNotebook)) + "\n");
  ASSERT_EQ(watches.size(), 2u);
  EXPECT_NE(watches[0].find("resourceVersion=5"), std::string::npos);
  EXPECT_NE(watches[1].find("resourceVersion=7"), std::string::npos);
}

TEST_F(HabitsTest, ApplyReadsStandardInputAndADryRunSaysSo) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string manifest =
      "apiVersion: cubeplane.io/v1\nkind: Notebook\nmetadata: {name: nb, project: demo}\n";
  ASSERT_EQ(write(ends[1], manifest.data(), manifest.size()), static_cast<ssize_t>(manifest.size()));
  close(ends[1]);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  api_.On("POST /api/v1/apply", 201, kNotebook);
  const Exit exit = Run({"apply", "-f", "-", "--dry-run"});
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
  EXPECT_EQ(exit, kDone) << err_.str();
  EXPECT_EQ(out_.str(), "notebook/nb created (dry run)\n");
  EXPECT_NE(api_.Requests().back().target.find("dryRun=All"), std::string::npos);
}

TEST_F(HabitsTest, ExplainAndDescribeSayWhyTheWayOutAndWhoIsAhead) {
  api_.On("GET /api/v1/projects/demo/trainingjobs/bert", 200,
          R"({"kind":"TrainingJob","metadata":{"name":"bert","project":"demo","owner":"ann"},)"
          R"("spec":{"resources":{"cpu":"8","memory":"64Gi","gpu":"2"}
},)"
          R"("status":{"phase":"waiting","place":3,"waitingSince":"2026-01-01T00:00:00.000Z"}})");
  api_.On("GET /api/v1/projects/demo/trainingjobs/bert/explain", 200,
          R"({"message":"A100 quota: requested 2, used 7, limited 8","reasons":[],"next":"1 more A100",)"
          R"("ahead":[{"name":"asr","resources":{"gpu":"1"
  }
  }]
  })");
  for (const char* command : {"explain", "describe"}) {
    EXPECT_EQ(Run({command, "job/bert", "-p", "demo"}), kDone) << err_.str();
    for (const char* text : {"bert", "TrainingJob", "place 3", "A100 quota: requested 2, used 7, limited 8",
                             "1 more A100", "asr"}) {
      EXPECT_NE(out_.str().find(text), std::string::npos) << command << ": " << text << "\n" << out_.str();
    }
  }
}

TEST_F(HabitsTest, WhatTakesLongerThanASecondIsTold) {
  const auto slow = [](std::chrono::milliseconds time) {
    return [time](const http::Request&) {
      std::this_thread::sleep_for(time);
      http::Response response;
      response.body = kNotebook;
      return response;
    };
  };
  api_.On("GET /api/v1/projects/demo/notebooks/nb", slow(std::chrono::milliseconds(1300)));
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "name"}), kDone);
  EXPECT_EQ(err_.str(), "Waiting for the answer, 1 s\n");
  terminal_.err_is_tty = true;
  terminal_.language = model::Language::kZh;
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "name"}), kDone);
  EXPECT_EQ(err_.str(), "\r\033[K等待应答，1 秒\r\033[K");
  api_.On("GET /api/v1/projects/demo/notebooks/nb", slow(std::chrono::milliseconds(1)));
  EXPECT_EQ(Run({"get", "notebook/nb", "-p", "demo", "-o", "name"}), kDone);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(HabitsTest, OpenPrintsTheLinkAloneAndTheTunnelBesideIt) {
  api_.On("GET /api/v1/projects/demo/notebooks/nb", 200, kNotebook);
  api_.On(
      "POST /api/v1/projects/demo/notebooks/nb/open", 200,
      R"({"url":"http://nb--demo.localhost:8080/.cubeplane/open?t=x","expiresAt":"2026-01-01T00:10:00.000Z"})");
  EXPECT_EQ(Run({"open", "nb", "-p", "demo"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "http://nb--demo.localhost:8080/.cubeplane/open?t=x\n");
  EXPECT_NE(err_.str().find("ssh -L 8080:localhost:8080"), std::string::npos) << err_.str();
}

TEST_F(HabitsTest, ATokenIsPrintedAloneOnceAndWhoamiAndProjectsAreShown) {
  api_.On("POST /api/v1/tokens", 201, R"({"id":"t1","token":"cpt_secret"})");
  EXPECT_EQ(Run({"token", "create", "--label", "ci", "--scope", "read"}), kDone) << err_.str();
  EXPECT_EQ(out_.str(), "cpt_secret\n");
  EXPECT_EQ((*json::Parse(api_.Requests().back().body))["scope"].AsString(), "read");
  api_.On("GET /api/v1/whoami", 200,
          R"({"user":"ann","admin":false,"via":"token","projects":[{"name":"demo","role":"lead"}]})");
  EXPECT_EQ(Run({"whoami"}), kDone);
  EXPECT_NE(out_.str().find("demo (lead)"), std::string::npos) << out_.str();
  api_.On(
      "GET /api/v1/projects", 200,
      R"({"items":[{"kind":"Project","metadata":{"name":"demo"},"spec":{"bindings":[{"cluster":"local",)"
      R"("quota":{"requests.cpu":"4"}}]},"status":{"bindings":[{"cluster":"local","used":{"requests.cpu":"1"}}]}}]})");
  EXPECT_EQ(Run({"project", "list"}), kDone);
  EXPECT_NE(out_.str().find("local: requests.cpu 1/4"), std::string::npos) << out_.str();
}

TEST_F(HabitsTest, VersionAnswersAlsoWithoutAControlPlane) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err};
  EXPECT_EQ(RunCommand({"version"}, terminal), kDone) << err.str();
  EXPECT_NE(out.str().find("cubeplane"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace cubeplane::cli
