// Keeps the queues moving: whenever something may have changed what fits, one pass over all that waits.
#pragma once

#include "controller/loop.h"
#include "state/ledger.h"

namespace cubeplane::controller::admission {

// Threading: on the control thread.
class Controller {
 public:
  Controller(state::Ledger& ledger, async::Executor& executor, Random& random);
  ~Controller();
  void Start();
  async::Task<void> Stop();

 private:
  async::Task<Outcome> Reconcile(std::string key);

  state::Ledger& ledger_;
  Loop loop_;
  size_t listener_ = 0;
};

}  // namespace cubeplane::controller::admission
