#include "kube/client.h"

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/testing/rig.h"
#include "kube/testing/scripted_server.h"

namespace cubeplane::kube {
namespace {

using http::testing::Rig;
using http::testing::RigServer;
using http::testing::TempDir;
using testing::Json;
using testing::Object;
using testing::Status;

// Both ways to the same scripted server: straight into the process, and over a Unix socket.
class ClientTest : public ::testing::TestWithParam<bool> {
 protected:
  ClientTest() : server(rig.loop), in_process(server, {.listener = "engine"}) {
    if (GetParam()) {
      http_server = std::make_unique<RigServer>(rig, server);
      const auto bound = http_server->server->Listen({.name = "engine", .unix_path = dir.path() + "/k.sock"});
      EXPECT_TRUE(bound) << bound.error().message;
      http_server->server->Start();
      over_socket = std::make_unique<http::Client>(rig.io, rig.loop,
                                                   http::Endpoint{.unix_path = dir.path() + "/k.sock"});
    }
    http::Transport& transport = GetParam() ? static_cast<http::Transport&>(*over_socket) : in_process;
    client = std::make_unique<Client>(transport, [this] { return token; });
  }
  ~ClientTest() override {
    rig.Do([this] { server.streams.clear(); });
  }

  template <class T>
  T Run(async::Task<T> task) {
    return rig.Run(std::move(task));
  }
  void Do(std::function<void()> work) { rig.Do(std::move(work)); }

  TempDir dir;
  Rig rig;
  testing::ScriptedServer server;
  http::InProcessTransport in_process;
  std::unique_ptr<RigServer> http_server;
  std::unique_ptr<http::Client> over_socket;
  std::unique_ptr<Client> client;
  std::string token = "t1";
};
INSTANTIATE_TEST_SUITE_P(Transports, ClientTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "UnixSocket" : "InProcess"; });

TEST_P(ClientTest, PathsMethodsAndTheTokenOfTheMoment) {
  server.Answer(Json(200, Object("x", "1")));
  EXPECT_TRUE(Run(client->Get(kPods, "a", "x")));
  token = "t2";
  EXPECT_TRUE(Run(client->Create(kStatefulSets, "a", Object("x", "1"), {.dry_run = true})));
  EXPECT_TRUE(Run(client->UpdateStatus(kNodes, "", Object("n", "1"))));
  EXPECT_TRUE(Run(client->Patch(kPods, "a", "x", PatchType::kJson, json::Array(), "status")));
  EXPECT_TRUE(
      Run(client->Delete(kPods, "a", "x", {.uid = "u", .grace_seconds = 5, .propagation = "Foreground"})));
  const auto& sent = server.requests;
  ASSERT_EQ(sent.size(), 5u);
  EXPECT_EQ(sent[0].method + " " + sent[0].target, "GET /api/v1/namespaces/a/pods/x");
  EXPECT_EQ(sent[0].headers.Get("Authorization"), "Bearer t1");
  EXPECT_EQ(sent[1].method + " " + sent[1].target,
            "POST /apis/apps/v1/namespaces/a/statefulsets?dryRun=All&fieldManager=cubeplane");
  EXPECT_EQ(sent[1].headers.Get("Authorization"), "Bearer t2");
  EXPECT_EQ(sent[2].method + " " + sent[2].target, "PUT /api/v1/nodes/n/status?fieldManager=cubeplane");
  EXPECT_EQ(sent[3].headers.Get("Content-Type"), "application/json-patch+json");
  EXPECT_EQ(sent[3].target, "/api/v1/namespaces/a/pods/x/status?fieldManager=cubeplane");
  const auto body = json::Parse(sent[4].body);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->At("preconditions.uid").AsString(), "u");
  EXPECT_EQ((*body)["gracePeriodSeconds"].AsInt(), 5);
  EXPECT_EQ((*body)["propagationPolicy"].AsString(), "Foreground");
}

TEST_P(ClientTest, AStatusBecomesAnErrorWithItsFields) {
  json::Value invalid = Status(422, "Invalid", "Pod \"x\" is invalid");
  invalid.Set("details", json::Object{{"causes", json::Array{json::Object{{"field", "spec.containers"},
                                                                          {"message", "Required value"}}}}});
  const struct {
    json::Value status;
    Code code;
  } cases[] = {{invalid, Code::kInvalid},
               {Status(404, "NotFound", "pods \"x\" not found"), Code::kNotFound},
               {Status(409, "AlreadyExists", "exists"), Code::kAlreadyExists},
               {Status(409, "Conflict", "changed"), Code::kConflict},
               {Status(403, "Forbidden", "no"), Code::kForbidden},
               {Status(403, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: cpu=2"),
                Code::kQuotaExceeded},
               {Status(410, "Expired", "too old"), Code::kGone},
               {Status(401, "Unauthorized", "Unauthorized"), Code::kUnauthenticated},
               {Status(429, "TooManyRequests", "slow down"), Code::kTooMany}};
  for (const auto& [status, code] : cases) {
    Do([&] {
      server.ForgetAnswers();
      server.Answer(Json(static_cast<int>(status["code"].AsInt()), status));
    });
    auto answer = Run(client->Get(kPods, "a", "x"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, code) << answer.error().message;
    EXPECT_EQ(answer.error().message, status["message"].AsString());
  }
  Do([&] {
    server.ForgetAnswers();
    server.Answer(Json(422, invalid));
  });
  auto answer = Run(client->Get(kPods, "a", "x"));
  ASSERT_EQ(answer.error().fields.size(), 1u);
  EXPECT_EQ(answer.error().fields[0].path, "spec.containers");
}

TEST_P(ClientTest, WhatIsNoStatusIsStillAnError) {
  http::Response proxy;
  proxy.status = 502;
  proxy.body = "<html>bad gateway</html>";
  server.Answer(proxy);
  const auto error = Run(client->Get(kPods, "a", "x")).error();
  EXPECT_TRUE(Retryable(error.code)) << CodeName(error.code);
  EXPECT_NE(error.message.find("bad gateway"), std::string::npos);
  Do([&] {
    server.ForgetAnswers();
    http::Response broken;
    broken.body = "{\"kind\":";
    server.Answer(broken);
  });
  EXPECT_FALSE(Run(client->Get(kPods, "a", "x")));
}

TEST_P(ClientTest, ListAllGathersPagesAndFillsInKinds) {
  server.Answer(testing::List("10", {Object("p1", "1"), Object("p2", "2")}, "next/1"));
  server.Answer(testing::List("10", {Object("p3", "3")}));
  auto all = Run(client->ListAll(kPods, "", {.label_selector = "a=b,c", .limit = 2}));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->items.size(), 3u);
  EXPECT_EQ(all->resource_version, "10");
  EXPECT_EQ(all->items[2]["kind"].AsString(), "Pod");
  EXPECT_EQ(server.requests[0].target, "/api/v1/pods?labelSelector=a%3Db%2Cc&limit=2");
  EXPECT_EQ(server.requests[1].target, "/api/v1/pods?labelSelector=a%3Db%2Cc&limit=2&continue=next%2F1");
}

TEST_P(ClientTest, ListAllStartsOverWhenAPageExpiredAndGivesUpInTheEnd) {
  server.Answer(testing::List("10", {Object("p1", "1")}, "n"));
  server.Answer(Json(410, Status(410, "Expired", "The provided continue parameter is too old")));
  server.Answer(testing::List("20", {Object("q1", "11")}, "n"));
  server.Answer(testing::List("20", {Object("q2", "12")}));
  auto all = Run(client->ListAll(kPods, ""));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 2u);
  EXPECT_EQ(all->resource_version, "20");
  Do([&] {
    server.ForgetAnswers();
    server.Answer(Json(410, Status(410, "Expired", "too old")));
  });
  const int before = server.other_count;
  EXPECT_EQ(Run(client->ListAll(kPods, "")).error().code, Code::kGone);
  EXPECT_LE(server.other_count - before, 5);
}

TEST_P(ClientTest, WatchesAreCutIntoEvents) {
  server.OpenWatch();
  auto opened = Run(client->Watch(kPods, "a", {.resource_version = "7"}));
  ASSERT_TRUE(opened) << opened.error().message;
  auto& watch = **opened;
  EXPECT_NE(server.requests[0].target.find("resourceVersion=7"), std::string::npos);
  const std::string line = R"({"type":"ADDED","object":)" + json::Write(Object("p", "8")) + "}\n";
  Do([&] {
    server.streams[0]->Send(line.substr(0, 20));
    server.streams[0]->Send(line.substr(20) + line.substr(0, 5));
    server.streams[0]->Send(line.substr(5) + "\n");
    server.streams[0]->Event("ERROR", Status(410, "Expired", "too old resource version"));
  });
  for (int i = 0; i < 2; ++i) {
    auto event = Run(watch.Next());
    ASSERT_TRUE(event && *event);
    EXPECT_EQ((*event)->type, "ADDED");
    EXPECT_EQ((*event)->object.At("metadata.name").AsString(), "p");
  }
  EXPECT_EQ(Run(watch.Next()).error().code, Code::kGone);
  Do([&] { opened->reset(); });
}

TEST_P(ClientTest, AWatchThatEndsInsideAnEventIsAnError) {
  server.OpenWatch();
  auto opened = Run(client->Watch(kPods, "a"));
  ASSERT_TRUE(opened);
  Do([&] {
    server.streams[0]->Send("{\"type\":");
    server.streams[0]->End();
  });
  EXPECT_FALSE(Run((*opened)->Next()));
  Do([&] { opened->reset(); });
}

TEST_P(ClientTest, ARefusedWatchIsAnError) {
  server.AnswerWatch(Json(403, Status(403, "Forbidden", "pods is forbidden")));
  EXPECT_EQ(Run(client->Watch(kPods, "a")).error().code, Code::kForbidden);
}

TEST_P(ClientTest, LogsAreStreamed) {
  Do([&] {
    server.Answer([&] {
      http::Response response;
      auto stream = std::make_shared<testing::FedWatch>(rig.loop);
      stream->Send("line 1\n");
      stream->End();
      response.stream = stream;
      return response;
    }());
  });
  auto log = Run(client->PodLog("a", "p", {.follow = true, .tail_lines = 10, .container = "main"}));
  ASSERT_TRUE(log && log->stream);
  EXPECT_EQ(server.requests[0].target,
            "/api/v1/namespaces/a/pods/p/log?follow=true&container=main&tailLines=10");
  EXPECT_EQ(Run(log->stream->Read()).value(), "line 1\n");
  EXPECT_EQ(Run(log->stream->Read()).value(), "");
  Do([&] { log->stream = nullptr; });
}

}  // namespace
}  // namespace cubeplane::kube
