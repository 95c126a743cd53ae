#include "engine/scheduler_loop.h"

#include <algorithm>
#include <charconv>

#include "log/log.h"

namespace cubeplane::engine {
namespace {

int64_t Revision(const json::Value& object) {
  const std::string& text = object["metadata"]["resourceVersion"].AsString();
  int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

}  // namespace

// Room comes and goes with pods and nodes only; a pod's own status is no news.
void SchedulerLoop::Observe(const Change& change) {
  if (change.key.resource == "nodes") marked_ = true;
  if (change.key.resource != "pods") return;
  const bool ends = change.previous && IsTerminalPhase(PhaseOf(*change.object)) &&
                    !IsTerminalPhase(PhaseOf(*change.previous));
  if (change.type != Change::Type::kModified || ends) marked_ = true;
}

std::vector<scheduler::NodeView> SchedulerLoop::Nodes() const {
  std::vector<scheduler::NodeView> nodes;
  for (const ObjectPtr& object : cluster_.store.List("nodes")) {
    auto node = scheduler::ReadNode(*object);
    if (node) nodes.push_back(std::move(*node));
  }
  for (const ObjectPtr& pod : cluster_.store.List("pods")) {
    const std::string& name = (*pod)["spec"]["nodeName"].AsString();
    if (name.empty() || IsTerminalPhase(PhaseOf(*pod))) continue;
    const auto node = std::ranges::find(nodes, name, &scheduler::NodeView::name);
    const auto wishes = scheduler::ReadWishes(*pod);
    if (node != nodes.end() && wishes) (void)scheduler::CountPod(*node, *wishes);
  }
  return nodes;
}

// In order of creation; equal times by name.
std::vector<ObjectPtr> SchedulerLoop::Pending() const {
  std::vector<ObjectPtr> pending;
  for (ObjectPtr& pod : cluster_.store.List("pods")) {
    if ((*pod)["spec"]["nodeName"].AsString().empty() && !IsDeleting(*pod) &&
        !IsTerminalPhase(PhaseOf(*pod))) {
      pending.push_back(std::move(pod));
    }
  }
  std::ranges::sort(pending, [](const ObjectPtr& a, const ObjectPtr& b) {
    const auto rank = [](const json::Value& pod) {
      return std::tuple(pod["metadata"]["creationTimestamp"].AsString(),
                        pod["status"].Contains("conditions") ? 0 : Revision(pod), NameOf(pod));
    };
    return rank(*a) < rank(*b);
  });
  return pending;
}

void SchedulerLoop::Reconcile() {
  if (!std::exchange(marked_, false)) return;
  const auto pending = Pending();
  if (pending.empty()) return;
  std::vector<scheduler::NodeView> nodes = Nodes();
  for (const ObjectPtr& pod : pending) {
    const auto wishes = scheduler::ReadWishes(*pod);
    if (!wishes) {
      Refuse(*pod, wishes.error().message);
      continue;
    }
    const scheduler::Placement placement = scheduler::ChooseNode(nodes, *wishes);
    if (placement.node.empty()) {
      Refuse(*pod, placement.message);
      continue;
    }
    Bind(*pod, placement.node);
    const auto node = std::ranges::find(nodes, placement.node, &scheduler::NodeView::name);
    (void)scheduler::CountPod(*node, *wishes);
  }
}

void SchedulerLoop::Bind(const json::Value& pod, const std::string& node) {
  const Kind& kind = *FindKindByResource("pods");
  const auto bound = cluster_.ModifyIfUid(KeyOf(kind, pod), UidOf(pod), [&](json::Value& object) {
    Sub(object, "spec").Set("nodeName", node);
    SetCondition(StatusOf(object), "PodScheduled", true, "", "", cluster_.Now());
  });
  if (!bound) return;
  recorder_.Record(kind, **bound, "Normal", "Scheduled",
                   "Successfully assigned " + NamespaceOf(pod) + "/" + NameOf(pod) + " to " + node,
                   "default-scheduler");
}

void SchedulerLoop::Refuse(const json::Value& pod, const std::string& message) {
  const Kind& kind = *FindKindByResource("pods");
  if (FindCondition(pod, "PodScheduled")["message"].AsString() == message) return;
  const auto told = cluster_.ModifyIfUid(KeyOf(kind, pod), UidOf(pod), [&](json::Value& object) {
    SetCondition(StatusOf(object), "PodScheduled", false, "Unschedulable", message, cluster_.Now());
  });
  if (told) recorder_.Record(kind, **told, "Warning", "FailedScheduling", message, "default-scheduler");
}

}  // namespace cubeplane::engine
