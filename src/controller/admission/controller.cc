#include "controller/admission/controller.h"

namespace cubeplane::controller::admission {
namespace {

constexpr char kAll[] = "all";
// A wait that has become long, or a retention that has passed, is noticed without an event.
constexpr Duration kLookAgain = std::chrono::seconds(30);

}  // namespace

Controller::Controller(state::Ledger& ledger, async::Executor& executor, Random& random)
    : ledger_(ledger), loop_("admission", executor, random, [this](std::string key) { return Reconcile(std::move(key)); }) {}

Controller::~Controller() {
  if (listener_ != 0) ledger_.RemoveListener(listener_);
}

void Controller::Start() {
  listener_ = ledger_.OnChange([this](const state::WatchEvent&) { loop_.Mark(kAll); });
  loop_.Mark(kAll);
  loop_.Start(1);
}

async::Task<void> Controller::Stop() { co_await loop_.Stop(); }

async::Task<Outcome> Controller::Reconcile(std::string) {
  const Result<std::vector<state::WorkloadPtr>> admitted = co_await ledger_.AdmitWaiting();
  if (!admitted) co_return Outcome{Fail(admitted.error()), {}};
  co_return Outcome{{}, kLookAgain};
}

}  // namespace cubeplane::controller::admission
