#include "scheduler/queue.h"

namespace cubeplane::scheduler {
namespace {

using model::Reason;

bool MayUse(const Waiting& waiting, const BindingView& binding) {
  return waiting.cluster.empty() || waiting.cluster == binding.cluster;
}

// Somebody who waits, and the pool that each binding would give him.
struct Blocked {
  const Waiting* waiting;
  std::vector<std::string> pools;  // by binding
};

std::vector<Ahead> AheadIn(const std::vector<Blocked>& blocked, const std::vector<BindingView>& bindings,
                           size_t binding, const Waiting& next) {
  std::vector<Ahead> ahead;
  for (const Blocked& other : blocked) {
    if (!MayUse(*other.waiting, bindings[binding])) continue;
    if (next.notebook && !other.waiting->notebook) continue;
    ahead.push_back({other.waiting->request.usage, other.pools[binding]});
  }
  return ahead;
}

class Pass {
 public:
  explicit Pass(const ProjectQueue& queue) : queue_(queue), bindings_(queue.bindings) {}

  std::vector<QueueStep> Run() {
    std::vector<QueueStep> steps;
    for (const Waiting& waiting : queue_.waiting) steps.push_back(Try(waiting));
    return steps;
  }

  const std::vector<Blocked>& blocked() const { return blocked_; }
  const std::vector<BindingView>& bindings() const { return bindings_; }

 private:
  QueueStep Try(const Waiting& waiting) {
    QueueStep step;
    step.uid = waiting.uid;
    Blocked blocked{&waiting, std::vector<std::string>(bindings_.size())};
    int usable = 0, hopeless = 0;
    std::vector<Reason> reasons;
    for (size_t i = 0; i < bindings_.size(); ++i) {
      if (!MayUse(waiting, bindings_[i])) continue;
      ++usable;
      const std::vector<Ahead> ahead = AheadIn(blocked_, bindings_, i, waiting);
      const Verdict verdict = Decide(bindings_[i], ahead, waiting.request);
      if (verdict.admitted && ahead.empty() && !waiting.held && Admit(waiting, i, verdict, step)) return step;
      blocked.pools[i] = verdict.pool;
      if (verdict.never()) ++hopeless;
      for (Reason& reason : ReasonsOf(bindings_[i], verdict)) reasons.push_back(std::move(reason));
    }
    step.never = usable > 0 && hopeless == usable;
    if (usable == 0) reasons.push_back(NoBinding(waiting));
    step.place = static_cast<int>(blocked_.size()) + 1;
    step.reasons.push_back({"waits_in_line",
                            {{"place", std::to_string(step.place)},
                             {"project", queue_.project},
                             {"ahead", std::to_string(blocked_.size())}}});
    for (Reason& reason : reasons) step.reasons.push_back(std::move(reason));
    blocked_.push_back(std::move(blocked));
    return step;
  }

  bool Admit(const Waiting& waiting, size_t binding, const Verdict& verdict, QueueStep& step) {
    auto reserved = Reserve(bindings_[binding], waiting.request, verdict.pool);
    if (!reserved) return false;
    bindings_[binding] = std::move(*reserved);
    step.admitted = true;
    step.cluster = bindings_[binding].cluster;
    step.pool = verdict.pool;
    return true;
  }

  Reason NoBinding(const Waiting& waiting) const {
    if (waiting.cluster.empty()) return {"no_bindings", {{"project", queue_.project}}};
    return {"no_binding", {{"project", queue_.project}, {"cluster", waiting.cluster}}};
  }

  const ProjectQueue& queue_;
  std::vector<BindingView> bindings_;
  std::vector<Blocked> blocked_;
};

}  // namespace

std::vector<QueueStep> PlanAdmissions(const ProjectQueue& queue) { return Pass(queue).Run(); }

std::vector<Ahead> AheadOf(const ProjectQueue& queue, const BindingView& binding, const Waiting& next) {
  Pass pass(queue);
  pass.Run();
  for (size_t i = 0; i < pass.bindings().size(); ++i) {
    if (pass.bindings()[i].cluster == binding.cluster)
      return AheadIn(pass.blocked(), pass.bindings(), i, next);
  }
  return {};
}

}  // namespace cubeplane::scheduler
