// Stand-ins for what the API server only talks to: the gateway and the clusters' logs. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/logs.h"
#include "state/entry.h"

namespace cubeplane::apiserver::testing {

// Remembers the sessions that must be in effect.
class FakeEntry final : public state::Entry {
 public:
  async::Task<Result<void>> SetRoutes(std::vector<state::Route>) override { co_return Result<void>(); }
  async::Task<Result<void>> PutSession(state::OriginSession session) override {
    sessions[session.id_hash] = session;
    co_return Result<void>();
  }
  async::Task<Result<void>> EndSessions(std::vector<std::string> id_hashes) override {
    for (const std::string& hash : id_hashes) sessions.erase(hash);
    co_return Result<void>();
  }
  std::string OriginOf(const std::string& host) const override { return "http://" + host + ":8080"; }
  std::string platform_host() const override { return "localhost"; }
  std::string cookie_name() const override { return "__Host-cubeplane-test"; }
  json::Value Health() const override {
    return json::Object{{"healthy", healthy}, {"reason", healthy ? "" : "gateway_down"}};
  }

  std::map<std::string, state::OriginSession> sessions;
  bool healthy = true;
};

// A text given in one piece, then the end.
class PieceBody final : public http::BodyStream {
 public:
  explicit PieceBody(std::string text) : text_(std::move(text)) {}
  async::Task<Result<std::string>> Read() override { co_return std::exchange(text_, std::string()); }
  void Close() override { text_.clear(); }

 private:
  std::string text_;
};

class FakeClusters final : public LogSource, public EventSource {
 public:
  async::Task<Result<std::shared_ptr<http::BodyStream>>> Open(state::WorkloadPtr workload, int32_t attempt,
                                                              LogOptions) override {
    const auto found = logs.find({workload->metadata.name, attempt});
    if (found == logs.end()) {
      co_return Fail(Error(Code::kConflict, "no_log_yet", {{"name", workload->metadata.name}}, "no log yet"));
    }
    co_return std::make_shared<PieceBody>(found->second);
  }
  async::Task<Result<std::vector<ClusterEvent>>> List(state::WorkloadPtr, size_t limit) override {
    std::vector<ClusterEvent> given(
        events.begin(), events.begin() + static_cast<std::ptrdiff_t>(std::min(limit, events.size())));
    co_return given;
  }

  std::map<std::pair<std::string, int32_t>, std::string> logs;
  std::vector<ClusterEvent> events;
};

}  // namespace cubeplane::apiserver::testing
