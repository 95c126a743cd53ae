// The node process: starts, finds again and ends pods at the control plane's word.
//
// JSON lines over a Unix socket; the peer's user id is checked by the kernel's word. Each request carries
// "id" and "op", each answer the same "id" and "ok":true or "error":{…}; after its hello a client also gets
// {"event":"state","state":{…}} for every pod, then for each change.
//   hello{protocol}  ensureTenant{tenant}  start{run}  stop{uid,graceNs}  remove{uid,keepLog}  list  end
// "end" kills every pod, cleans up and ends the node.
// Threading: one thread with a poll loop. Signals: TERM and INT end the node; pods go on.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/node/config.h"

namespace cubeplane::engine::node {

inline constexpr size_t kMaxOutBytes = 16u
                                       << 20;  // answers that a client does not read; beyond, it is cut off
inline constexpr size_t kMaxClients = 64;
inline constexpr size_t kMaxPods = 10'000;

struct NodeOptions {
  NodeConfig config;  // data, run, reader, environments, outbound_allow are given; the rest is found
  std::string socket;
  std::string uids = "/var/lib/cubeplane/uids";
  bool trust_tenants = false;
};

// Serves until a signal or "end". Errors are those of the start.
Result<void> RunNode(NodeOptions options);

}  // namespace cubeplane::engine::node
