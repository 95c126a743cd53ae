// An engine driven by HTTP messages, with virtual time.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "async/group.h"
#include "async/manual_executor.h"
#include "engine/engine.h"
#include "engine/fake_runtime.h"
#include "json/json.h"

namespace cubeplane::engine {

struct Reply {
  int status = 0;
  json::Value body;
  std::string text;
  std::shared_ptr<http::BodyStream> stream;
  http::Headers headers;
};

class EngineTest : public testing::Test {
 protected:
  EngineTest() { Boot(); }
  ~EngineTest() override {
    engine_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(FakeOptions().data_folder, ignored);
    if (options_.database != ":memory:") {
      for (const char* suffix : {"", "-wal", "-shm"}) std::remove((options_.database + suffix).c_str());
    }
  }

  static EngineOptions DefaultOptions() {
    EngineOptions options;
    options.node = {.name = "Box_1", .cpu_milli = 4000, .memory_bytes = int64_t{8} << 30};
    options.node.labels = {{"org", "public"}};
    options.credentials = {{"admin-token-0123456789", "system:admin", Credential::Role::kFull},
                           {"viewer-token-012345678", "viewer", Credential::Role::kViewer}};
    return options;
  }
  static FakeRuntimeOptions FakeOptions() {
    FakeRuntimeOptions options;
    options.data_folder = testing::TempDir() + "engine-fake-" + std::to_string(getpid());
    options.write_logs = true;
    return options;
  }
  void Boot() {
    engine_ = std::make_unique<Engine>(options_, executor_, random_, runtime_);
    const auto started = engine_->Start();
    ASSERT_TRUE(started) << started.error().message;
    executor_.RunUntilIdle();
  }
  // kill -9: nothing is said to anyone.
  void Kill() {
    engine_.reset();
    executor_.Clear();
  }
  void MoveToDisk() {
    options_.database = testing::TempDir() + "engine-" + random_.Hex(6) + ".db";
    Kill();
    Boot();
  }

  template <class T>
  T Await(async::Task<T> task) {
    std::optional<T> value;
    async::TaskGroup group(executor_);
    group.Spawn(Keep(std::move(task), value));
    for (int i = 0; i < 10'000 && !value; ++i) {
      if (!executor_.RunOne() && !executor_.AdvanceToNextTimer()) break;
    }
    EXPECT_TRUE(value) << "the task did not finish";
    return std::move(*value);
  }
  template <class T>
  static async::Task<void> Keep(async::Task<T> task, std::optional<T>& out) {
    T value = co_await std::move(task);
    out.emplace(std::move(value));
  }

  Reply Raw(const std::string& method, const std::string& target, const std::string& body,
            const std::string& type = "application/json") {
    http::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (!body.empty()) request.headers.Set("Content-Type", type);
    if (!token_.empty()) request.headers.Set("Authorization", "Bearer " + token_);
    http::Response response = Await(engine_->api().Handle(std::move(request)));
    Reply reply{response.status, {}, response.body, response.stream, response.headers};
    if (auto parsed = json::Parse(response.body)) reply.body = std::move(*parsed);
    return reply;
  }
  // The request and all that follows from it.
  Reply Call(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& type = "application/json") {
    Reply reply = Raw(method, target, body, type);
    executor_.RunUntilIdle();
    return reply;
  }
  json::Value Get(const std::string& target) { return Call("GET", target).body; }
  std::string Read(const Reply& reply) {
    auto piece = Await(reply.stream->Read());
    return piece ? *piece : "error: " + piece.error().message;
  }
  // All lines that a stream has now, as values.
  std::vector<json::Value> Events(const std::string& piece) {
    std::vector<json::Value> events;
    size_t start = 0;
    for (size_t end = 0; (end = piece.find('\n', start)) != std::string::npos; start = end + 1) {
      events.push_back(json::Parse(piece.substr(start, end - start)).value());
    }
    return events;
  }

  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kSets = "/apis/apps/v1/namespaces/default/statefulsets";

  ManualClock clock_;
  async::ManualExecutor executor_{clock_};
  SeededRandom random_{7};
  FakeRuntime runtime_{executor_, FakeOptions()};
  EngineOptions options_ = DefaultOptions();
  std::string token_ = "admin-token-0123456789";
  std::unique_ptr<Engine> engine_;
};

}  // namespace cubeplane::engine
