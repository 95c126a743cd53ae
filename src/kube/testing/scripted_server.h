// An API server that answers as the test says: lists page by page, and watches that the test feeds and ends.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/sync.h"
#include "http/message.h"
#include "json/json.h"

namespace cubeplane::kube::testing {

// A watch that the test writes to. Threading: on the executor.
class FedWatch final : public http::BodyStream {
 public:
  explicit FedWatch(async::Executor& executor) : pieces_(executor, 1024) {}
  async::Task<Result<std::string>> Read() override {
    std::optional<std::string> piece = co_await pieces_.Pop();
    if (closed) co_return Fail(Code::kCancelled, "closed by the reader");
    if (piece) co_return *piece;
    if (cut_) co_return Fail(Code::kInternal, "connection reset");
    co_return std::string();
  }
  void Close() override {
    closed = true;
    pieces_.Close();
  }
  void Send(std::string bytes) { pieces_.Push(std::move(bytes)); }
  void Event(const std::string& type, const json::Value& object) {
    Send(json::Write(json::Object{{"type", type}, {"object", object}}) + "\n");
  }
  // The server ends the watch in order.
  void End() { pieces_.Close(); }
  // The connection breaks.
  void Cut() {
    cut_ = true;
    pieces_.Close();
  }
  bool closed = false;

 private:
  async::Channel<std::string> pieces_;
  bool cut_ = false;
};

inline json::Value Object(const std::string& name, const std::string& version,
                          const std::string& name_space = "a") {
  return json::Object{
      {"metadata",
       json::Object{
           {"name", name}, {"namespace", name_space}, {"uid", "uid-" + name}, {"resourceVersion", version}}}};
}

inline http::Response Json(int status, const json::Value& body) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.body = json::Write(body);
  return response;
}

inline json::Value Status(int code, const std::string& reason, const std::string& message) {
  return json::Object{
      {"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"reason", reason}, {"message", message}};
}

inline http::Response List(const std::string& version, json::Array items, const std::string& next = "") {
  json::Object metadata{{"resourceVersion", version}};
  if (!next.empty()) metadata.Set("continue", next);
  return Json(
      200, json::Object{{"kind", "PodList"}, {"metadata", std::move(metadata)}, {"items", std::move(items)}});
}

// Threading: on the executor. What is not scripted is answered with 500.
class ScriptedServer final : public http::Handler {
 public:
  explicit ScriptedServer(async::Executor& executor) : executor_(executor) {}

  async::Task<http::Response> Handle(http::Request request) override {
    requests.push_back(request);
    const bool watch = request.query().starts_with("watch=1");
    auto& answers = watch ? watches_ : others_;
    if (watch)
      ++watch_count;
    else
      ++other_count;
    if (answers.empty()) co_return Json(500, Status(500, "InternalError", "nothing scripted"));
    http::Response response = answers.front()();
    // The last answer stays, so that a test says only what differs.
    if (answers.size() > 1) answers.pop_front();
    co_return response;
  }

  // What the next request that is no watch gets; the last one said is repeated.
  void Answer(http::Response response) {
    others_.push_back([response] { return response; });
  }
  void AnswerWatch(http::Response response) {
    watches_.push_back([response] { return response; });
  }
  // The next watch gets a stream of its own, found in `streams`.
  void OpenWatch() {
    watches_.push_back([this] {
      streams.push_back(std::make_shared<FedWatch>(executor_));
      http::Response response;
      response.stream = streams.back();
      return response;
    });
  }
  // Forgets what was said for requests that are no watches.
  void ForgetAnswers() { others_.clear(); }

  std::vector<http::Request> requests;
  std::vector<std::shared_ptr<FedWatch>> streams;
  int watch_count = 0;
  int other_count = 0;

 private:
  async::Executor& executor_;
  std::deque<std::function<http::Response()>> others_, watches_;
};

}  // namespace cubeplane::kube::testing
