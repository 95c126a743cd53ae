// One HTTP readiness probe, without blocking: ready is any status from 200 to 399.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/node/sys.h"
#include "engine/runtime.h"

namespace cubeplane::engine::node {

// Threading: one owner, who polls fd() for events() and calls OnEvent, or Expire when deadline() has passed.
class Probe {
 public:
  // `socket` is an unconnected non-blocking IPv4 socket in the pod's network.
  Probe(Fd socket, const HttpProbe& probe, Mono now);
  int fd() const { return socket_.get(); }
  short events() const;
  Mono deadline() const { return deadline_; }
  void OnEvent();
  void Expire() { result_ = false; }
  // Whether the server is ready, once that is known.
  std::optional<bool> result() const { return result_; }

 private:
  Fd socket_;
  const Mono deadline_;
  std::string request_, answer_;
  std::optional<bool> result_;
};

}  // namespace cubeplane::engine::node
