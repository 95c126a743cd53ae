#include "cli/testing/fake_api.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cubeplane::cli {
namespace {

class PiecesBody final : public http::BodyStream {
 public:
  PiecesBody(std::vector<std::string> pieces, bool breaks) : pieces_(std::move(pieces)), breaks_(breaks) {}
  async::Task<Result<std::string>> Read() override {
    if (next_ < pieces_.size()) co_return pieces_[next_++];
    if (breaks_) co_return Fail(Code::kUnavailable, "the test breaks the stream");
    co_return std::string();
  }
  void Close() override {}

 private:
  const std::vector<std::string> pieces_;
  const bool breaks_;
  size_t next_ = 0;
};

}  // namespace

std::shared_ptr<http::BodyStream> Pieces(std::vector<std::string> pieces, bool breaks) {
  return std::make_shared<PiecesBody>(std::move(pieces), breaks);
}

FakeApi::FakeApi() {
  char folder[] = "/tmp/cubeplane-cli-test-XXXXXX";
  data_ = mkdtemp(folder);
  std::ofstream(data_ + "/endpoint.json")
      << R"({"api_socket": ")" + data_ + R"(/api.sock", "url": "http://localhost:1"})";
  http::ListenOptions options;
  options.name = "api";
  options.unix_path = data_ + "/api.sock";
  if (!server_.Listen(options)) std::abort();
  server_.Start();
  thread_ = std::thread([this] { loop_.Run(); });
}

FakeApi::~FakeApi() {
  server_.Stop();
  loop_.Stop();
  thread_.join();
  std::filesystem::remove_all(data_);
}

void FakeApi::On(const std::string& what, Answerer answer) {
  std::lock_guard lock(mutex_);
  answers_[what] = std::move(answer);
}

void FakeApi::On(const std::string& what, int status, const std::string& json) {
  On(what, [status, json](const http::Request&) {
    http::Response response;
    response.status = status;
    response.headers.Set("Content-Type", "application/json");
    response.body = json;
    return response;
  });
}

std::vector<http::Request> FakeApi::Requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

async::Task<http::Response> FakeApi::Handle(http::Request request) {
  std::lock_guard lock(mutex_);
  requests_.push_back(request);
  const auto found = answers_.find(request.method + " " + std::string(request.path()));
  if (found != answers_.end()) co_return found->second(request);
  http::Response missing;
  missing.status = 404;
  missing.body =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"})";
  co_return missing;
}

}  // namespace cubeplane::cli
