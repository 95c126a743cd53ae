#include "scheduler/queue.h"

namespace cubeplane::scheduler {
namespace {

using model::Reason;

bool MayUse(const Waiting& waiting, const BindingView& binding) {
  return waiting.cluster.empty() || waiting.cluster == binding.cluster;
}

// Those who wait for one binding.
struct Line {
  AheadSums all, notebooks;
  std::vector<Ahead> list, notebook_list;

  const AheadSums& Before(const Waiting& next) const { return next.notebook ? notebooks : all; }
  void Add(const Waiting& waiting, const std::string& pool) {
    const Ahead ahead{waiting.request.usage, pool};
    all.Add(ahead);
    list.push_back(ahead);
    if (!waiting.notebook) return;
    notebooks.Add(ahead);
    notebook_list.push_back(ahead);
  }
};

// One imaginary node with the largest amount of each resource, which refuses the same pods as all the nodes
// do.
std::vector<ResourceList> Largest(const std::vector<ResourceList>& nodes) {
  if (nodes.empty()) return {};
  ResourceList largest;
  for (const ResourceList& node : nodes) {
    for (const auto& [resource, amount] : node) {
      const auto [place, fresh] = largest.try_emplace(resource, amount);
      if (!fresh && amount > place->second) place->second = amount;
    }
  }
  return {std::move(largest)};
}

class Pass {
 public:
  explicit Pass(const ProjectQueue& queue)
      : queue_(queue), bindings_(queue.bindings), lines_(queue.bindings.size()) {
    for (BindingView& binding : bindings_) binding.node_allocatable = Largest(binding.node_allocatable);
  }

  std::vector<QueueStep> Run() {
    std::vector<QueueStep> steps;
    for (const Waiting& waiting : queue_.waiting) steps.push_back(Try(waiting));
    return steps;
  }

  const std::vector<Line>& lines() const { return lines_; }
  const std::vector<BindingView>& bindings() const { return bindings_; }

 private:
  QueueStep Try(const Waiting& waiting) {
    QueueStep step;
    step.uid = waiting.uid;
    std::vector<std::pair<size_t, std::string>> pools;  // what each binding would give
    int usable = 0, hopeless = 0;
    std::vector<Reason> reasons;
    for (size_t i = 0; i < bindings_.size(); ++i) {
      if (!MayUse(waiting, bindings_[i])) continue;
      ++usable;
      const AheadSums& ahead = lines_[i].Before(waiting);
      const Verdict verdict = DecideBehind(bindings_[i], ahead, waiting.request);
      if (verdict.admitted && ahead.empty() && !waiting.held && Admit(waiting, i, verdict, step)) return step;
      pools.emplace_back(i, verdict.pool);
      if (verdict.never()) ++hopeless;
      for (Reason& reason : ReasonsOf(bindings_[i], verdict)) reasons.push_back(std::move(reason));
    }
    step.never = usable > 0 && hopeless == usable;
    if (usable == 0) reasons.push_back(NoBinding(waiting));
    step.place = ++waiting_;
    step.reasons.push_back({"waits_in_line",
                            {{"place", std::to_string(step.place)},
                             {"project", queue_.project},
                             {"ahead", std::to_string(step.place - 1)}}});
    for (Reason& reason : reasons) step.reasons.push_back(std::move(reason));
    for (const auto& [binding, pool] : pools) lines_[binding].Add(waiting, pool);
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
  std::vector<Line> lines_;  // by binding
  int waiting_ = 0;
};

}  // namespace

std::vector<QueueStep> PlanAdmissions(const ProjectQueue& queue) { return Pass(queue).Run(); }

std::vector<Ahead> AheadOf(const ProjectQueue& queue, const BindingView& binding, const Waiting& next) {
  Pass pass(queue);
  pass.Run();
  for (size_t i = 0; i < pass.bindings().size(); ++i) {
    if (pass.bindings()[i].cluster == binding.cluster) {
      return next.notebook ? pass.lines()[i].notebook_list : pass.lines()[i].list;
    }
  }
  return {};
}

}  // namespace cubeplane::scheduler
