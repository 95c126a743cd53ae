// What a kill -9 ends: the control plane, composed as in cmd, on the simulation's executor.
#pragma once

#include <memory>
#include <string>

#include "async/group.h"
#include "async/manual_executor.h"
#include "async/pool.h"
#include "controller/admission/controller.h"
#include "controller/cluster.h"
#include "controller/door_key.h"
#include "controller/project/controller.h"
#include "controller/route/controller.h"
#include "controller/workload/controller.h"
#include "engine/engine.h"
#include "engine/fake_runtime.h"
#include "kube/client.h"
#include "sim/fake_entry.h"
#include "sim/fault_transport.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::sim {

struct ProcessParts {
  async::ManualExecutor& executor;
  ManualClock& clock;
  Random& random;
  engine::FakeRuntime& runtime;
  const FaultRates& faults;
  std::string folder;  // databases and logs, on disk: they survive
  std::function<controller::workload::Plan(const model::Workload&, const controller::workload::Seen&, Time)>
      decide;
};

class Process {
 public:
  // Starts booting; `booted()` once it works.
  explicit Process(ProcessParts parts);
  // As kill -9: whatever was under way stays where it stands.
  ~Process();

  bool booted() const { return booted_; }
  const std::string& trouble() const { return trouble_; }
  state::Ledger& ledger() { return *ledger_; }
  storage::Store& store() { return *store_; }
  async::TaskGroup& requests() { return requests_; }
  FakeEntry& entry() { return entry_; }

 private:
  async::Task<void> Boot();

  ProcessParts parts_;
  async::BlockingPool pool_;
  FakeEntry entry_;
  controller::DoorKey door_key_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<state::Ledger> ledger_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<FaultTransport> transport_;
  std::unique_ptr<kube::Client> kube_;
  std::unique_ptr<controller::Cluster> cluster_;
  std::unique_ptr<controller::project::Controller> projects_;
  std::unique_ptr<controller::admission::Controller> admission_;
  std::unique_ptr<controller::workload::Controller> workloads_;
  std::unique_ptr<controller::route::Controller> routes_;
  bool booted_ = false;
  std::string trouble_;
  async::TaskGroup requests_;  // last: what is under way goes first
};

}  // namespace cubeplane::sim
