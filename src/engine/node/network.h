// A pod's private network: a namespace held by the door's process, a firewall in it, and slirp4netns as its
// way out.
//
// The namespace belongs to a user namespace (U1) above the pod's own, so the pod has no right over its
// firewall. Threading: the supervisor's one thread. Lifetime: End, or the end of the supervisor, ends all of
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/node/process.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

struct NetworkPlan {
  uid_t uid = 0;  // the tenant's
  Fd listener;    // the door's listening socket, when there is a door
  uint16_t door_port = 0;
  std::string door_secret;
  std::vector<std::string> outbound_allow;  // see NodeConfig
};

class PodNetwork {
 public:
  explicit PodNetwork(Place place) : place_(std::move(place)) {}
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;
  ~PodNetwork() { End(); }

  // Makes the namespaces and the door. Without them there is no pod.
  Result<void> Begin(NetworkPlan plan);
  // Firewall, then the way out. On an error the pod has its loopback (and door) only; say so and go on.
  Result<void> ConnectOut();
  // Writes the firewall anew when the host's addresses have changed.
  Result<void> RefreshFirewall();
  // To be called with each child that ended; true when it was the way out (call ConnectOut again) …
  bool LostWayOut(pid_t pid);
  // … or the door (the pod must end: nothing reaches it, and its namespace has lost its holder).
  bool LostDoor(pid_t pid);

  int user_namespace() const { return user_.get(); }
  int net_namespace() const { return net_.get(); }
  // A non-blocking socket inside the pod's network, for the readiness probe.
  Result<Fd> ProbeSocket();
  void End();

 private:
  Result<void> ApplyFirewall(const std::vector<std::string>& host_addresses);
  Result<void> StartSlirp();

  Place place_;
  NetworkPlan plan_;
  Fd control_, user_, net_, slirp_exit_;
  pid_t door_ = 0, slirp_ = 0;
  std::vector<std::string> host_addresses_;
};

// The rules, for nft: refuses what is private, link-local (metadata), multicast or one of the host's
// addresses, and all of IPv6; lets the pod's DNS (10.0.2.3) and `allow` pass.
std::string FirewallRules(const std::vector<std::string>& host_addresses,
                          const std::vector<std::string>& allow);
// IPv4 addresses of this machine, sorted.
std::vector<std::string> HostAddresses();
// An IPv4 address or network ("10.1.0.0/16"): safe to stand in a rule.
bool IsIpv4Network(const std::string& text);

}  // namespace cubeplane::engine::node
