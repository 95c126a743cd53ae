// The door: the only way into a pod. It runs inside the pod's network namespace as the tenant, without any
// capability.
#pragma once

#include <cstdint>
#include <string>

#include "engine/node/sys.h"

namespace cubeplane::engine::node {

inline constexpr size_t kMaxDoorConnections = 512;

struct DoorPlan {
  Fd listener;        // made by the supervisor outside the sandbox; none when the pod has no door
  Fd control;         // to the supervisor; its end ends the door
  uint16_t port = 0;  // on the pod's loopback
  std::string secret;
};

// Serves until the control socket closes. Each connection carries one request (or one upgraded stream) after
// its secret was checked. Each byte received on the control socket is answered with a fresh IPv4 socket of
// this namespace (SCM_RIGHTS), through which the supervisor probes. Blocks; single-threaded.
int RunDoor(DoorPlan plan);

// The supervisor's side: a non-blocking socket inside the pod's namespace.
Result<Fd> AskForSocket(int control);

}  // namespace cubeplane::engine::node
