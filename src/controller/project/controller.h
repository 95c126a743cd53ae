// Makes and repairs what each binding needs in its cluster, and says when a project is ready.
#pragma once

#include "controller/cluster.h"
#include "controller/loop.h"
#include "controller/project/decide.h"
#include "state/ledger.h"

namespace cubeplane::controller::project {

// Threading: on the control thread.
class Controller {
 public:
  Controller(state::Ledger& ledger, Cluster& cluster, std::string instance, const Clock& clock,
             async::Executor& executor, Random& random);
  ~Controller();
  void Start();
  async::Task<void> Stop();

 private:
  async::Task<Outcome> Reconcile(std::string project);
  Seen Observe(const std::string& project);
  async::Task<Result<void>> Apply(Change change);
  async::Task<Result<void>> Report(std::string project, bool ready, model::Reason reason);

  state::Ledger& ledger_;
  Cluster& cluster_;
  const std::string instance_;
  const Clock& clock_;
  Loop loop_;
  size_t listener_ = 0;
};

}  // namespace cubeplane::controller::project
