#include "apiserver/cluster_logs.h"

#include <gtest/gtest.h>

#include "async/group.h"
#include "async/manual_executor.h"
#include "json/json.h"
#include "storage/sqlite/sqlite.h"

namespace cubeplane::apiserver {
namespace {

// A cluster that has one pod's log and some events.
class OnePod final : public http::Handler {
 public:
  async::Task<http::Response> Handle(http::Request request) override {
    asked.push_back(request.target);
    http::Response response;
    response.headers.Set("Content-Type", "application/json");
    if (request.path() == "/api/v1/namespaces/proj-demo/pods/job-123456-a1/log") {
      response.headers.Set("Content-Type", "text/plain");
      response.body = "live line\n";
    } else if (request.path() == "/api/v1/namespaces/proj-demo/events") {
      response.body = events;
    } else {
      response.status = 404;
      response.body =
          R"({"kind":"Status","status":"Failure","reason":"NotFound","message":"not found","code":404})";
    }
    co_return response;
  }
  std::vector<std::string> asked;
  std::string events;
};

class ClusterLogsTest : public ::testing::Test {
 protected:
  ClusterLogsTest() {
    auto store = storage::OpenSqlite(executor_, clock_, {.path = ":memory:", .inline_mode = true});
    EXPECT_TRUE(store);
    store_ = std::move(*store);
    logs_ = std::make_unique<ClusterLogs>(
        [this](const std::string& name) { return name == "local" ? &client_ : nullptr; }, *store_, pool_);
    workload_.metadata.name = "job";
    workload_.metadata.project = "demo";
    workload_.metadata.uid = "uid-123456";
    workload_.status.phase = model::Phase::kRunning;
    model::AttemptStatus attempt;
    attempt.cluster = "local";
    attempt.pod = "job-123456-a1";
    workload_.status.attempts.push_back(attempt);
  }
  template <class T>
  T Run(async::Task<T> task) {
    std::optional<T> value;
    async::TaskGroup group(executor_);
    group.Spawn(Into(std::move(task), value));
    executor_.RunUntilIdle();
    EXPECT_TRUE(value);
    return std::move(*value);
  }
  template <class T>
  static async::Task<void> Into(async::Task<T> task, std::optional<T>& value) {
    T result = co_await std::move(task);
    value.emplace(std::move(result));
  }
  // The text, or the code of the error.
  std::string Log(int32_t attempt) {
    const auto workload = std::make_shared<const model::Workload>(workload_);
    auto body = Run(logs_->Open(workload, attempt, {}));
    if (!body) return body.error().reason.empty() ? body.error().message : body.error().reason;
    auto piece = Run((*body)->Read());
    return piece ? *piece : piece.error().message;
  }

  ManualClock clock_;
  async::ManualExecutor executor_{clock_};
  async::BlockingPool pool_{executor_, 0};
  std::unique_ptr<storage::Store> store_;
  OnePod cluster_;
  http::InProcessTransport transport_{cluster_, {}};
  kube::Client client_{transport_, [] { return std::string("token"); }};
  model::Workload workload_;
  std::unique_ptr<ClusterLogs> logs_;
};

TEST_F(ClusterLogsTest, TheLogComesFromThePodWhileItIsThere) { EXPECT_EQ(Log(1), "live line\n"); }

TEST_F(ClusterLogsTest, TheKeptLogGoesFirstAndAsksNoCluster) {
  std::function<Result<void>(storage::Txn&)> keep = [](storage::Txn& txn) {
    return txn.PutKeptLog({"uid-123456", 1, "", "2026-03-04T06:02:07Z kept line\n", Time()});
  };
  ASSERT_TRUE(Run(store_->Write(std::move(keep))));
  EXPECT_EQ(Log(1), "kept line\n");
  EXPECT_TRUE(cluster_.asked.empty());
}

TEST_F(ClusterLogsTest, NoPodYetNoPodAnyMoreAndNoClusterAreTold) {
  workload_.status.attempts[0].pod = "other";
  EXPECT_EQ(Log(1), "no_log_yet");
  workload_.status.phase = model::Phase::kFailed;
  EXPECT_EQ(Log(1), "log_not_kept");
  EXPECT_EQ(Log(2), "log_not_kept");
  workload_.status.attempts[0].cluster = "gone";
  EXPECT_EQ(Log(1), "cluster_not_seen");
}

TEST_F(ClusterLogsTest, EventsAreThoseOfTheWorkloadsObjectsOldestFirst) {
  cluster_.events = R"({"kind":"EventList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[
    {"involvedObject":{"kind":"Pod","name":"job-123456-a1"},"type":"Normal","reason":"Started","message":"m2","lastTimestamp":"2026-03-04T06:02:09Z"},
    {"involvedObject":{"kind":"Pod","name":"job-1234567-a1"},"type":"Normal","reason":"Foreign","message":"x","lastTimestamp":"2026-03-04T06:02:08Z"},
    {"involvedObject":{"kind":"Pod","name":"job-123456-a1"},"type":"Warning","reason":"FailedScheduling","message":"m1","count":3,"lastTimestamp":"2026-03-04T06:02:07Z"}]})";
  const auto workload = std::make_shared<const model::Workload>(workload_);
  const auto events = Run(logs_->List(workload, 10));
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].reason, "FailedScheduling");
  EXPECT_EQ((*events)[0].count, 3);
  EXPECT_EQ((*events)[1].reason, "Started");
  EXPECT_EQ((*events)[1].object, "Pod/job-123456-a1");
}

}  // namespace
}  // namespace cubeplane::apiserver
