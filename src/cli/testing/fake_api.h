// An API server for the command line's tests: a real HTTP server on a Unix socket, with answers from a table.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "async/loop.h"
#include "base/clock.h"
#include "http/server.h"

namespace cubeplane::cli {

// Makes a folder with endpoint.json, as `cubeplane up` leaves it, and removes it at the end.
class FakeApi final : public http::Handler {
 public:
  using Answerer = std::function<http::Response(const http::Request&)>;

  FakeApi();
  ~FakeApi() override;
  // "GET /api/v1/status" (path without query) -> answer. Unknown ones are a 404 Status.
  void On(const std::string& what, Answerer answer);
  void On(const std::string& what, int status, const std::string& json);
  const std::string& data() const { return data_; }
  std::vector<http::Request> Requests() const;

  async::Task<http::Response> Handle(http::Request request) override;

 private:
  std::string data_;
  SystemClock clock_;
  async::Loop loop_{clock_};
  http::Server server_{loop_, *this};
  std::thread thread_;
  mutable std::mutex mutex_;
  std::map<std::string, Answerer> answers_;  // guarded by mutex_
  std::vector<http::Request> requests_;      // guarded by mutex_
};

// A body that gives `pieces` and then ends, or breaks.
std::shared_ptr<http::BodyStream> Pieces(std::vector<std::string> pieces, bool breaks);

}  // namespace cubeplane::cli
