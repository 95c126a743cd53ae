// The embedded single-machine cluster: the Kubernetes API in process, on one node, which is this machine.
//
// It has its own database and with it its own identity (the UID of kube-system), versions and watches;
// nothing in it knows of cubeplane but the annotations named in docs/engine.md. It survives kill -9: Start
// loads what was stored and asks the runtime what is running.
//
// Threading: the control thread only. Writes reach the disk inside the call that makes them (one sync each):
// a deliberate price for simplicity, because the engine's objects are few.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "base/random.h"
#include "engine/api/auth.h"
#include "engine/runtime.h"
#include "engine/store.h"
#include "http/message.h"

namespace cubeplane::engine {

// A kind of device of this machine: "nvidia.com/gpu" and, for each piece, the device files a pod gets with
// it.
struct DeviceKind {
  std::vector<std::vector<std::string>> pieces;
};

struct NodeShape {
  std::string name;  // the host's name; made a DNS label
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t pods = 110;
  std::map<std::string, DeviceKind> devices;
  std::map<std::string, std::string> labels;  // "org": "public"
  int64_t ephemeral_bytes = 0;                // for ephemeral-storage; 0: pods that ask for it find no room
};

struct EngineOptions {
  std::string database = ":memory:";
  NodeShape node;
  std::vector<Credential> credentials;
  StoreLimits limits;
};

class Engine {
 public:
  // Lifetime: executor, random and runtime outlive the engine.
  Engine(EngineOptions options, async::Executor& executor, Random& random, Runtime& runtime);
  // As kill -9 would: what was stored stays, pods go on.
  ~Engine();

  // Opens the database and begins. Errors as Store::Open. The runtime may be away: pods then wait for it.
  Result<void> Start();
  // Ends the loops and all watches. Pods go on.
  async::Task<void> Stop();

  // Valid from Start on, until the engine goes.
  http::Handler& api();
  // The identity: UID of the namespace kube-system.
  std::string ClusterUid() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "My_Host.Local" -> "my-host.local": lower case, what a node may be called.
std::string NodeNameOf(std::string_view host);

}  // namespace cubeplane::engine
