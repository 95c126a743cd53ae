#include "controller/route/controller.h"

#include "controller/names.h"
#include "controller/route/decide.h"

namespace cubeplane::controller::route {
namespace {

constexpr char kAll[] = "all";

}  // namespace

Controller::Controller(state::Ledger& ledger, Cluster& cluster, state::Entry& entry, const DoorKey& door_key,
                       std::string domain, async::Executor& executor, Random& random)
    : ledger_(ledger),
      cluster_(cluster),
      entry_(entry),
      door_key_(door_key),
      domain_(std::move(domain)),
      loop_("route", executor, random, [this](std::string key) { return Reconcile(std::move(key)); }) {}

Controller::~Controller() {
  if (listener_ != 0) ledger_.RemoveListener(listener_);
}

void Controller::Start() {
  listener_ = ledger_.OnChange([this](const state::WatchEvent& event) {
    if (event.kind == model::KindName(model::WorkloadKind::kNotebook)) loop_.Mark(kAll);
  });
  cluster_.pods().OnChange([this](const std::string&, const std::string&) { loop_.Mark(kAll); });
  loop_.Mark(kAll);
  loop_.Start(1);
}

async::Task<void> Controller::Stop() { co_await loop_.Stop(); }

async::Task<Outcome> Controller::Reconcile(std::string) {
  // The routes on disk stay until the cluster has been seen: an empty cache is no reason to cut anybody off.
  if (!cluster_.Synced()) co_return Outcome{{}, std::chrono::milliseconds(200)};
  Input input{.domain = domain_};
  for (const state::WorkloadPtr& workload : ledger_.Workloads()) {
    if (workload->kind != model::WorkloadKind::kNotebook) continue;
    const auto pod = cluster_.pods().Get(NamespaceOf(workload->metadata.project), PodName(*workload));
    if (!pod || (*pod)["metadata"]["labels"][kLabelWorkload].AsString() != workload->metadata.uid) continue;
    input.workloads.push_back(workload);
    input.pods.emplace(workload->metadata.uid, *pod);
    input.secrets.emplace(workload->metadata.uid, door_key_.SecretOf(workload->metadata.uid));
  }
  std::vector<state::Route> routes = Decide(input);
  Result<void> set = co_await entry_.SetRoutes(std::move(routes));
  co_return Outcome{std::move(set), {}};
}

}  // namespace cubeplane::controller::route
