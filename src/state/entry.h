// What the route table says and what the gateway is asked: the seam between those who decide (route
// controller, API server) and the gateway. The route table is level-triggered: the whole of it is given each
// time, the gateway finds the difference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace cubeplane::state {

// One workload's way in.
struct Route {
  std::string host;  // "nb--demo.localhost", lower case, without port
  std::string workload_uid;
  std::string upstream;  // "unix@/run/…/door.sock" of the present pod; its change is a new server
  std::string instance;  // pod UID: names the server, never reused
  std::string secret;    // sent as X-Cubeplane-Door to the upstream only
  std::string owner;     // the one user who may open it (decision 9)
  bool operator==(const Route&) const = default;
};

// A signed-in person on one origin.
struct OriginSession {
  std::string id_hash;     // SHA-256 hex of the cookie's value
  std::string user, host;  // host without port; the platform's own host for platform sessions
  Time expires;
};

// Threading: on the control thread.
class Entry {
 public:
  virtual ~Entry() = default;
  // The routes that must be. Returns once they are on disk and in effect; on kUnavailable they are on disk
  // and will be in effect when HAProxy is back.
  virtual async::Task<Result<void>> SetRoutes(std::vector<Route> routes) = 0;
  // In effect when it returns.
  virtual async::Task<Result<void>> PutSession(OriginSession session) = 0;
  // Takes sessions out and cuts their open connections.
  virtual async::Task<Result<void>> EndSessions(std::vector<std::string> id_hashes) = 0;
  // "http://nb--demo.localhost:8080"
  virtual std::string OriginOf(const std::string& host) const = 0;
  virtual std::string platform_host() const = 0;  // "localhost"
  virtual std::string cookie_name() const = 0;    // "__Host-cubeplane-<instance>"
  // Health as conditions: {"healthy": bool, "reason": code, "since": …, "restarts": n}.
  virtual json::Value Health() const = 0;
};

// "nb--demo" + ".localhost": the host of a workload.
std::string HostOf(const std::string& workload, const std::string& project, const std::string& domain);

}  // namespace cubeplane::state
