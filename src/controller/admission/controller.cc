#include "controller/admission/controller.h"

namespace cubeplane::controller::admission {
namespace {

constexpr char kAll[] = "all";
// A wait that has become long, or a retention that has passed, is noticed without an event.
constexpr Duration kLookAgain = std::chrono::seconds(30);

}  // namespace

Controller::Controller(state::Ledger& ledger, Cluster& cluster, async::Executor& executor, Random& random)
    : ledger_(ledger),
      cluster_(cluster),
      loop_("admission", executor, random, [this](std::string key) { return Reconcile(std::move(key)); }) {}

Controller::~Controller() {
  if (listener_ != 0) ledger_.RemoveListener(listener_);
}

void Controller::Start() {
  listener_ = ledger_.OnChange([this](const state::WatchEvent&) { loop_.Mark(kAll); });
  cluster_.nodes().OnChange([this](const std::string&, const std::string&) {
    ReadNodes();
    loop_.Mark(kAll);
  });
  loop_.Mark(kAll);
  loop_.Start(1);
}

void Controller::ReadNodes() {
  if (!cluster_.nodes().Synced()) return;
  std::vector<model::ResourceList> nodes;
  for (const kube::Informer::Pointer& node : cluster_.nodes().List()) {
    model::ResourceList allocatable;
    for (const auto& [name, amount] : node->At("status.allocatable").AsObject()) {
      if (const Result<Quantity> quantity = Quantity::Parse(amount.AsString())) allocatable[name] = *quantity;
    }
    nodes.push_back(std::move(allocatable));
  }
  ledger_.settings().node_allocatable[cluster_.name()] = std::move(nodes);
}

async::Task<void> Controller::Stop() { co_await loop_.Stop(); }

async::Task<Outcome> Controller::Reconcile(std::string) {
  const Result<std::vector<state::WorkloadPtr>> admitted = co_await ledger_.AdmitWaiting();
  if (!admitted) co_return Outcome{Fail(admitted.error()), {}};
  co_return Outcome{{}, kLookAgain};
}

}  // namespace cubeplane::controller::admission
