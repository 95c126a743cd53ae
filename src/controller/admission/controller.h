// Keeps the queues moving: whenever something may have changed what fits, one pass over all that waits.
#pragma once

#include "controller/cluster.h"
#include "controller/loop.h"
#include "state/ledger.h"

namespace cubeplane::controller::admission {

// Threading: on the control thread.
class Controller {
 public:
  Controller(state::Ledger& ledger, Cluster& cluster, async::Executor& executor, Random& random);
  ~Controller();
  void Start();
  async::Task<void> Stop();

 private:
  async::Task<Outcome> Reconcile(std::string key);
  // Tells the ledger what the nodes can hold at most, so that what never fits is refused at once.
  void ReadNodes();

  state::Ledger& ledger_;
  Cluster& cluster_;
  Loop loop_;
  size_t listener_ = 0;
};

}  // namespace cubeplane::controller::admission
