// An API server over a real ledger and store (in memory), in virtual time. For tests.
//
// There are: the project `demo` (4 cores, 8 Gi) with lead-1, member-1, member-2 and viewer-1; the user
// stranger-1, who has no project; and `admin`. Everybody has a token.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/api_server.h"
#include "apiserver/testing/fake_parts.h"
#include "async/group.h"
#include "async/manual_executor.h"
#include "auth/auth.h"
#include "json/json.h"
#include "state/ledger.h"
#include "storage/sqlite/sqlite.h"

namespace cubeplane::apiserver::testing {

struct Ask {
  std::string method = "GET", target;
  std::string as;  // a user, by token; "" nobody; "socket" the operator's socket
  std::string body, type = "application/json";
  http::Headers headers;
};

class ApiFixture : public ::testing::Test {
 protected:
  ApiFixture();
  ~ApiFixture() override;

  http::Response Send(Ask ask);
  // A request as it is; for cookies and origins.
  http::Response SendRaw(http::Request request);
  // Reads a streamed body until nothing comes any more without time passing.
  std::string ReadAvailable(const std::shared_ptr<http::BodyStream>& stream, bool* ended = nullptr);
  template <class T>
  T Run(async::Task<T> task) {
    std::optional<T> value;
    async::TaskGroup group(executor_);
    group.Spawn(Into(std::move(task), value));
    executor_.RunUntilIdle();
    EXPECT_TRUE(value) << "the task did not end";
    return std::move(*value);
  }
  // A workload of `user` in demo, made through the API.
  void Submit(const std::string& kind, const std::string& name, const std::string& user);
  // Makes a notebook look as the controllers do once it is up.
  void MakeRunning(const std::string& name);
  static json::Value Json(const http::Response& response);
  // details.code of a Status.
  static std::string CodeOf(const http::Response& response);
  std::string Describe(const http::Response& response) const;

  ManualClock clock_;
  async::ManualExecutor executor_{clock_};
  SeededRandom random_{11};
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<auth::Auth> auth_;
  std::unique_ptr<state::Ledger> ledger_;
  FakeEntry entry_;
  FakeClusters clusters_;
  Settings settings_;
  std::unique_ptr<ApiServer> api_;
  std::map<std::string, std::string> tokens_;

 private:
  template <class T>
  static async::Task<void> Into(async::Task<T> task, std::optional<T>& value) {
    T result = co_await std::move(task);
    value.emplace(std::move(result));
  }
};

inline constexpr std::string_view kPassword = "correct horse";

}  // namespace cubeplane::apiserver::testing
