// Gives the gateway the whole route table whenever it may have changed.
#pragma once

#include "controller/cluster.h"
#include "controller/door_key.h"
#include "controller/loop.h"
#include "state/entry.h"
#include "state/ledger.h"

namespace cubeplane::controller::route {

// Threading: on the control thread.
class Controller {
 public:
  Controller(state::Ledger& ledger, Cluster& cluster, state::Entry& entry, const DoorKey& door_key,
             std::string domain, async::Executor& executor, Random& random);
  ~Controller();
  void Start();
  async::Task<void> Stop();

 private:
  async::Task<Outcome> Reconcile(std::string key);

  state::Ledger& ledger_;
  Cluster& cluster_;
  state::Entry& entry_;
  const DoorKey& door_key_;
  const std::string domain_;
  Loop loop_;
  size_t listener_ = 0;
};

}  // namespace cubeplane::controller::route
