// Watches and followed logs, in virtual time.
#include <gtest/gtest.h>

#include "apiserver/follow.h"
#include "apiserver/testing/api_fixture.h"

namespace cubeplane::apiserver {
namespace {

using std::chrono::seconds;
using testing::ApiFixture;

class WatchTest : public ApiFixture {
 protected:
  std::shared_ptr<http::BodyStream> Open(const std::string& query, const std::string& as = "member-1",
                                         const std::string& path = "/api/v1/projects/demo/trainingjobs") {
    http::Response response = Send({.target = path + "?watch=1" + query, .as = as});
    EXPECT_EQ(response.status, 200) << response.body;
    return response.stream;
  }
  // "ADDED a", "MODIFIED a", …
  std::vector<std::string> Events(const std::shared_ptr<http::BodyStream>& stream, bool* ended = nullptr) {
    std::vector<std::string> events;
    std::stringstream lines(ReadAvailable(stream, ended));
    for (std::string line; std::getline(lines, line);) {
      const Result<json::Value> event = json::Parse(line);
      EXPECT_TRUE(event) << line;
      events.push_back((*event)["type"].AsString() + " " + (*event)["object"]["metadata"]["name"].AsString());
    }
    return events;
  }
  std::string Version() { return std::to_string(ledger_->version()); }
  using Lines = std::vector<std::string>;
};

TEST_F(WatchTest, GivesWhatIsThereThenEachChange) {
  Submit("TrainingJob", "a", "member-1");
  const auto stream = Open("");
  EXPECT_EQ(Events(stream), Lines{"ADDED a"});
  Submit("TrainingJob", "b", "member-2");
  Submit("Notebook", "nb", "member-1");
  EXPECT_EQ(Events(stream), Lines{"ADDED b"});
  ASSERT_EQ(
      Send({.method = "DELETE", .target = "/api/v1/projects/demo/trainingjobs/a", .as = "member-1"}).status,
      200);
  const Lines events = Events(stream);
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(events.back() == "DELETED a" || events.back() == "MODIFIED a");
}

TEST_F(WatchTest, ResumesAfterAVersionWithoutLossOrRepetition) {
  Submit("TrainingJob", "a", "member-1");
  const std::string version = Version();
  Submit("TrainingJob", "b", "member-1");
  Submit("TrainingJob", "c", "member-1");
  EXPECT_EQ(Events(Open("&resourceVersion=" + version)), (Lines{"ADDED b", "ADDED c"}));
}

TEST_F(WatchTest, AVersionOfTheFutureIs410) {
  const http::Response response =
      Send({.target = "/api/v1/trainingjobs?watch=1&resourceVersion=999999", .as = "member-1"});
  EXPECT_EQ(response.status, 410);
  EXPECT_EQ(CodeOf(response), "version_gone");
}

TEST_F(WatchTest, StrangersHearNothingAndNewMembersHearFromThenOn) {
  const auto stream = Open("", "stranger-1", "/api/v1/trainingjobs");
  Submit("TrainingJob", "a", "member-1");
  EXPECT_EQ(Events(stream), Lines{});
  json::Value project = Json(Send({.target = "/api/v1/projects/demo", .as = "lead-1"}));
  project.MakeObject().Erase("status");
  project.MakeObject()["spec"].MakeObject()["members"].MakeArray().push_back(
      json::Object{{"user", "stranger-1"}, {"role", "viewer"}});
  ASSERT_EQ(
      Send({.method = "PUT", .target = "/api/v1/projects/demo", .as = "lead-1", .body = json::Write(project)})
          .status,
      200);
  Submit("TrainingJob", "b", "member-1");
  EXPECT_EQ(Events(stream), Lines{"ADDED b"});
}

TEST_F(WatchTest, WhatLeavesTheSelectionIsDeletedForTheReader) {
  Submit("TrainingJob", "a", "member-1");
  const std::string target = "/api/v1/projects/demo/trainingjobs/a";
  const auto label = [&](const char* value) {
    const std::string body =
        R"({"apiVersion":"cubeplane.io/v1","kind":"TrainingJob","metadata":{"name":"a","labels":{"t":")" +
        std::string(value) + R"("}},"spec":{"command":["true"]}})";
    const http::Response response = Send({.method = "PUT", .target = target, .as = "member-1", .body = body});
    ASSERT_EQ(response.status, 200) << response.body;
  };
  const auto stream = Open("&labelSelector=t%3Dx");
  EXPECT_EQ(Events(stream), Lines{});
  label("x");
  EXPECT_EQ(Events(stream), Lines{"ADDED a"});
  label("y");
  EXPECT_EQ(Events(stream), Lines{"DELETED a"});
}

TEST_F(WatchTest, BookmarksComeAndTheWatchEndsAtItsTime) {
  const auto stream = Open("&allowWatchBookmarks=true&timeoutSeconds=25");
  EXPECT_EQ(Events(stream), Lines{});
  clock_.Advance(seconds(10));
  EXPECT_EQ(Events(stream), Lines{"BOOKMARK "});
  bool ended = false;
  clock_.Advance(seconds(16));
  Events(stream, &ended);
  EXPECT_TRUE(ended);
}

TEST_F(WatchTest, EndingAWatchFreesItsPlaceAndPlacesAreBounded) {
  std::vector<std::shared_ptr<http::BodyStream>> open;
  for (size_t i = 0; i < settings_.streams.per_user; ++i) open.push_back(Open(""));
  const http::Response refused = Send({.target = "/api/v1/trainingjobs?watch=1", .as = "member-1"});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(CodeOf(refused), "too_many_streams");
  open.pop_back();
  open.push_back(Open(""));
  EXPECT_TRUE(Open("", "member-2")) << "another person has places of their own";
}

TEST_F(WatchTest, RevokingTheTokenEndsItsWatch) {
  const auto token = Run(auth_->CreateToken("member-1", "short", "", {}));
  tokens_["short"] = token->secret;
  const auto stream = Open("", "short");
  bool ended = false;
  Events(stream, &ended);
  EXPECT_FALSE(ended);
  ASSERT_EQ(Send({.method = "DELETE", .target = "/api/v1/tokens/" + token->row.id, .as = "member-1"}).status,
            204);
  Events(stream, &ended);
  EXPECT_TRUE(ended);
}

TEST_F(WatchTest, AFollowedLogWaitsUntilThereIsOne) {
  Submit("TrainingJob", "a", "member-1");
  http::Response response =
      Send({.target = "/api/v1/projects/demo/trainingjobs/a/log?follow=1", .as = "viewer-1"});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(ReadAvailable(response.stream), "");
  clusters_.logs[{"a", 1}] = "epoch 1\nepoch 2\n";
  executor_.Advance(seconds(3));
  bool ended = false;
  EXPECT_EQ(ReadAvailable(response.stream, &ended), "epoch 1\nepoch 2\n");
  EXPECT_TRUE(ended);
}

TEST_F(WatchTest, AFollowedLogEndsForWhoLeavesTheProject) {
  Submit("TrainingJob", "a", "member-1");
  http::Response response =
      Send({.target = "/api/v1/projects/demo/trainingjobs/a/log?follow=1", .as = "viewer-1"});
  EXPECT_EQ(ReadAvailable(response.stream), "");
  json::Value project = Json(Send({.target = "/api/v1/projects/demo", .as = "lead-1"}));
  project.MakeObject().Erase("status");
  project.MakeObject()["spec"].MakeObject()["members"].MakeArray().pop_back();  // viewer-1
  ASSERT_EQ(
      Send({.method = "PUT", .target = "/api/v1/projects/demo", .as = "lead-1", .body = json::Write(project)})
          .status,
      200);
  clusters_.logs[{"a", 1}] = "secret\n";
  executor_.Advance(seconds(3));
  bool ended = false;
  EXPECT_EQ(ReadAvailable(response.stream, &ended), "");
  EXPECT_TRUE(ended);
}

TEST_F(WatchTest, ALogThatIsNotThereYetSaysSo) {
  Submit("TrainingJob", "a", "member-1");
  const std::string log = "/api/v1/projects/demo/trainingjobs/a/log";
  EXPECT_EQ(CodeOf(Send({.target = log, .as = "member-1"})), "no_log_yet");
  EXPECT_EQ(CodeOf(Send({.target = log + "?attempt=2", .as = "member-1"})), "no_such_attempt");
  EXPECT_EQ(Send({.target = log + "?tail=-1", .as = "member-1"}).status, 400);
  clusters_.logs[{"a", 1}] = "x\n";
  const http::Response response = Send({.target = log, .as = "member-1"});
  EXPECT_EQ(ReadAvailable(response.stream), "x\n");
}

}  // namespace
}  // namespace cubeplane::apiserver
