// Carries workloads through their life in one cluster: the loop around workload/decide.h.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "async/pool.h"
#include "controller/cluster.h"
#include "controller/door_key.h"
#include "controller/loop.h"
#include "controller/workload/decide.h"
#include "controller/workload/log_keeper.h"
#include "controller/workload/objects.h"
#include "state/entry.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::controller::workload {

struct Parts {
  state::Ledger& ledger;
  storage::Store& store;  // uploaded code
  Cluster& cluster;
  state::Entry& entry;  // origins
  const DoorKey& door_key;
  async::Executor& executor;
  async::BlockingPool& pool;
  const Clock& clock;
  Random& random;
  std::string instance, domain, log_folder;
  Duration log_retention = std::chrono::hours(24 * 30);
  // The decision itself; the simulation plants a wrong one here to show that its checks find it.
  std::function<Plan(const model::Workload&, const Seen&, Time)> decide = Decide;
};

// Threading: on the control thread.
class Controller {
 public:
  explicit Controller(Parts parts);
  ~Controller();
  void Start();
  async::Task<void> Stop();
  // Workloads whose last step failed, and why.
  const std::map<std::string, Error>& failing() const { return loop_.failing(); }

 private:
  async::Task<Outcome> Reconcile(std::string uid);
  Seen Observe(const model::Workload& workload) const;
  ObjectSettings SettingsFor(const model::Workload& workload) const;
  std::string AsNodesSpell(const std::string& pool) const;
  void MarkPod(const std::string& name_space, const std::string& name);

  async::Task<Result<void>> Look(state::WorkloadPtr workload, Seen& seen);
  bool MayStillAppear(const model::Workload& workload);

  // One step each; see workload/decide.h.
  async::Task<Result<void>> Apply(state::WorkloadPtr workload, Step step, Plan plan);
  async::Task<Result<void>> Send(state::WorkloadPtr workload);
  async::Task<Result<bool>> TryOut(state::WorkloadPtr workload, json::Value pod);
  async::Task<Result<bool>> MarkSent(state::WorkloadPtr workload);
  async::Task<Result<void>> SendTraining(state::WorkloadPtr workload);
  async::Task<Result<void>> SendNotebook(state::WorkloadPtr workload);
  async::Task<Result<void>> ScaleUp(state::WorkloadPtr workload);
  async::Task<Result<void>> ScaleDown(state::WorkloadPtr workload);
  async::Task<Result<void>> SetStatus(state::WorkloadPtr workload, StatusPatch status);
  async::Task<Result<void>> StopPod(state::WorkloadPtr workload);
  async::Task<Result<void>> RemovePod(state::WorkloadPtr workload);
  async::Task<Result<void>> KeepLog(state::WorkloadPtr workload);
  async::Task<Result<void>> End(state::WorkloadPtr workload, EndDecision end);
  async::Task<Result<void>> CleanUp(state::WorkloadPtr workload);
  // Pods that carry our labels and a workload the ledger does not know, or an attempt that is over.
  async::Task<Result<void>> StopStrangers(std::string uid);

  async::Task<Result<void>> CreateUnlessThere(kube::Resource resource, json::Value object);
  async::Task<Result<void>> CreateCode(state::WorkloadPtr workload);
  async::Task<Result<json::Value>> FindPod(state::WorkloadPtr workload);

  Parts parts_;
  LogKeeper logs_;
  Loop loop_;
  size_t listener_ = 0;
  std::map<std::pair<std::string, std::string>, std::string>
      uid_of_pod_;                          // survives the pod's deletion by one event
  std::map<std::string, Mono> looked_for_;  // by workload/attempt: since when its pod is looked for in vain
};

}  // namespace cubeplane::controller::workload
