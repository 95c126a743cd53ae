// A gateway that only remembers.
#pragma once

#include <vector>

#include "state/entry.h"

namespace cubeplane::sim {

class FakeEntry final : public state::Entry {
 public:
  async::Task<Result<void>> SetRoutes(std::vector<state::Route> routes) override {
    routes_ = std::move(routes);
    co_return Result<void>();
  }
  async::Task<Result<void>> PutSession(state::OriginSession) override { co_return Result<void>(); }
  async::Task<Result<void>> EndSessions(std::vector<std::string>) override { co_return Result<void>(); }
  std::string OriginOf(const std::string& host) const override { return "http://" + host + ":8080"; }
  std::string platform_host() const override { return "localhost"; }
  std::string cookie_name() const override { return "__Host-cubeplane-sim"; }
  json::Value Health() const override { return json::Object{{"healthy", true}}; }
  const std::vector<state::Route>& routes() const { return routes_; }

 private:
  std::vector<state::Route> routes_;
};

}  // namespace cubeplane::sim
