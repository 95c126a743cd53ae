// One run of a pod's sandbox: bwrap, pod init and the payload below it.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "engine/node/config.h"
#include "engine/node/network.h"
#include "engine/node/pod_init.h"
#include "engine/node/process.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

struct Payload {
  pid_t pid = 0;  // of bwrap; its end is the sandbox's end
  Fd control;     // packets to and from pod init
  Fd out, err;    // non-blocking
  bool started = false;
  InitReport report;  // how pod init said that the payload ended; kUnknown when it could not say

  // Through pod init: bwrap itself would pass on nothing.
  void Signal(int number);
  // Takes what pod init has said; true when the payload has just started.
  bool ReadControl();
};

// Starts the sandbox inside `network`. Returns at once; a sandbox that cannot be built says why on its stderr
// and ends.
Result<Payload> StartPayload(const PodFile& pod, const PodNetwork& network, const Place& place);

}  // namespace cubeplane::engine::node
