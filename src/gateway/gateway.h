// The gateway: state::Entry on HAProxy. See README.md for what the platform sees.
//
// Threading: on the control thread; files, process and admin socket are worked on one thread of its own, one
// call after another. Lifetime: Start once; Stop before destruction. HAProxy outlives this object unless Stop
// ends it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/group.h"
#include "async/pool.h"
#include "gateway/proxy.h"
#include "state/entry.h"

namespace cubeplane::gateway {

class Gateway final : public state::Entry {
 public:
  // `random` must be thread-safe (SystemRandom). `log` gets sentences, on the gateway's own thread.
  Gateway(GatewayOptions options, async::Executor& executor, Random& random,
          std::function<void(const std::string&)> log);

  // Starts HAProxy or adopts the one that runs. Errors end `up`: kAlreadyExists (the port is taken),
  // kUnavailable (an address cannot be had), kNotFound (no HAProxy), kForbidden (a folder is not ours),
  // kInvalid (an option, or HAProxy's complaint).
  async::Task<Result<void>> Start();
  // Stops supervising. HAProxy goes on serving unless `end_haproxy`, which also ends one that an earlier run
  // has left, so that `down` needs no Start.
  async::Task<Result<void>> Stop(bool end_haproxy);

  async::Task<Result<void>> SetRoutes(std::vector<state::Route> routes) override;
  async::Task<Result<void>> PutSession(state::OriginSession session) override;
  async::Task<Result<void>> EndSessions(std::vector<std::string> id_hashes) override;
  std::string OriginOf(const std::string& host) const override;
  std::string platform_host() const override { return options_.domain; }
  std::string cookie_name() const override { return CookieName(options_.instance); }
  json::Value Health() const override;

 private:
  async::Task<void> Supervise();

  const GatewayOptions options_;
  async::Executor& executor_;
  Proxy proxy_;  // used on pool_'s one thread only, but for health()
  async::BlockingPool pool_;
  async::TaskGroup tasks_;
};

}  // namespace cubeplane::gateway
