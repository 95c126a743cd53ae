// The gateway's own thread of work: files, HAProxy's process and its admin socket, in blocking calls one
// after another.
//
// Level-triggered: what must be stands in the table and the sessions (in memory and on disk); Reconcile asks
// HAProxy what is and applies the plan. After any failure the next Tick does it again. Threading: all calls
// on one thread at a time, except health().
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "async/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "gateway/admin.h"
#include "gateway/config.h"
#include "gateway/plan.h"
#include "gateway/process.h"
#include "state/entry.h"

namespace cubeplane::gateway {

inline constexpr size_t kMaxSessions = 20'000;

struct GatewayOptions {
  std::string
      run_folder;  // sockets and process identity; made 0700; a short path (108 bytes with the socket's name)
  std::string state_folder;  // maps, configuration, key; made 0700, its parent exists
  uint16_t port = 0;
  std::string platform_socket;  // the API server's "platform" listener
  std::string domain = "localhost";
  std::string instance;  // [a-z0-9]{1,32}
  std::string haproxy = "/usr/sbin/haproxy";
  Duration sweep_every = std::chrono::minutes(1);  // open WebSockets of expired sessions are cut at this pace
};

class Proxy {
 public:
  struct Health {
    bool healthy = false;
    std::string reason = "gateway_not_started";  // a code; "" when healthy
    std::string message;
    Time since{};
    int restarts = 0;
  };
  // `random` must be safe on this object's thread. `fresh_key` becomes the installation's state key when it
  // has none. `log` is called on this object's thread.
  Proxy(GatewayOptions options, const Clock& clock, Random& random, std::string fresh_key,
        std::function<void(const std::string&)> log);

  // Adopts a running HAProxy of the same configuration, or starts one (ending one of another configuration).
  Result<void> Start();
  // Tells HAProxy and the disk. A route that cannot be used is left out and is the error once the others are
  // in effect.
  Result<void> SetRoutes(const std::vector<state::Route>& routes);
  Result<void> PutSession(const state::OriginSession& session);
  Result<void> EndSessions(const std::vector<std::string>& id_hashes);
  // Every half second: restarts HAProxy, repeats what failed, cuts again, sweeps expired sessions each
  // minute.
  void Tick();
  // Ends HAProxy, also one that an earlier run has left (without Start).
  Result<void> End();
  // From any thread.
  Health health() const;

 private:
  struct Session {
    std::string user, host;
    int64_t expiry_s = 0;  // Unix time
  };

  std::string StatePath(std::string_view file) const {
    return options_.state_folder + "/" + std::string(file);
  }
  std::string RunPath(std::string_view file) const { return options_.run_folder + "/" + std::string(file); }
  ConfigInput Config() const;
  Result<void> LoadKey();
  Result<void> LoadTable();
  void LoadSessions();
  Result<void> WriteRoutes() const;
  Result<void> WriteSessions() const;
  std::vector<MapEntry> SessionEntries() const;

  Result<void> Adopt(const AdminSocket::Info& info);
  Result<void> Launch();
  void EndRunning();
  Result<void> Reconcile();
  Result<void> ReconcileRoutes();
  Result<void> ReconcileSessions();
  Result<void> PutMap(std::string_view map, const MapChange& change);
  Result<void> AddServer(const ServerLine& server);
  Result<void> RemoveServer(const std::string& server);
  void Cut(const std::string& server);
  void CutHost(const std::string& host);

  void Supervise(Mono now);
  void CutAgain(Mono now);
  void Sweep(Mono now);
  void SetHealth(bool healthy, std::string reason, std::string message);

  const GatewayOptions options_;
  const Clock& clock_;
  std::string state_key_;
  std::string mark_, static_config_;  // made once by Start
  std::function<void(const std::string&)> log_;
  AdminSocket admin_;
  async::Backoff backoff_;

  Table table_;
  std::map<std::string, Session> sessions_;  // by hash
  bool dirty_ = false;                       // HAProxy or the disk may differ from what must be
  ProcessId process_;
  Mono started_{}, next_start_{}, next_ping_{}, next_sweep_{}, next_repair_{};
  int missed_pings_ = 0;
  std::vector<std::pair<Mono, std::string>> cuts_;  // servers to be cut once more

  mutable std::mutex mutex_;
  Health health_;  // guarded by mutex_
};

}  // namespace cubeplane::gateway
