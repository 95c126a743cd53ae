#include "scheduler/fit.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "model/problems.h"

namespace cubeplane::scheduler {
namespace {

constexpr char kUnschedulableTaint[] = "node.kubernetes.io/unschedulable";

model::StringMap ReadMap(const json::Value& value) {
  model::StringMap map;
  for (const auto& [key, text] : value.AsObject()) map[key] = text.AsString();
  return map;
}

std::vector<Requirement> ReadRequirements(const json::Value& list) {
  std::vector<Requirement> requirements;
  for (const json::Value& value : list.AsArray()) {
    Requirement& requirement = requirements.emplace_back();
    requirement.key = value["key"].AsString();
    requirement.op = value["operator"].AsString();
    for (const json::Value& word : value["values"].AsArray()) requirement.values.push_back(word.AsString());
  }
  return requirements;
}

std::optional<int64_t> ReadInt(std::string_view text) {
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// labels.Requirement.Matches. `found` is null when the node has no such label.
bool Holds(const Requirement& requirement, const std::string* found) {
  const auto& values = requirement.values;
  const bool listed = found != nullptr && std::find(values.begin(), values.end(), *found) != values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  if (requirement.op == "Exists") return found != nullptr;
  if (requirement.op == "DoesNotExist") return found == nullptr;
  if ((requirement.op != "Gt" && requirement.op != "Lt") || found == nullptr || values.size() != 1)
    return false;
  const auto left = ReadInt(*found), right = ReadInt(values[0]);
  if (!left || !right) return false;
  return requirement.op == "Gt" ? *left > *right : *left < *right;
}

bool TermHolds(const SelectorTerm& term, const NodeView& node) {
  if (term.labels.empty() && term.fields.empty()) return false;
  for (const Requirement& requirement : term.labels) {
    const auto label = node.labels.find(requirement.key);
    if (!Holds(requirement, label == node.labels.end() ? nullptr : &label->second)) return false;
  }
  for (const Requirement& requirement : term.fields) {
    if (requirement.key != "metadata.name" || requirement.values.size() != 1) return false;
    if (requirement.op != "In" && requirement.op != "NotIn") return false;
    if (!Holds(requirement, &node.name)) return false;
  }
  return true;
}

Quantity Of(const ResourceList& list, const std::string& key) {
  const auto found = list.find(key);
  return found == list.end() ? Quantity() : found->second;
}

std::vector<std::string> InsufficientResources(const NodeView& node, const PodWishes& pod) {
  std::vector<std::string> reasons;
  const auto most = node.allocatable.find("pods");
  if (most != node.allocatable.end() && node.pods + 1 > most->second.Value())
    reasons.push_back("Too many pods");
  for (const auto& [resource, asked] : pod.requests) {
    if (asked.IsZero() || resource == "pods") continue;
    const auto total = Quantity::Sum(Of(node.requested, resource), asked);
    if (!total || *total > Of(node.allocatable, resource)) reasons.push_back("Insufficient " + resource);
  }
  return reasons;
}

// Free part of cpu and memory after the pod, 0 to 200: kube-scheduler's LeastAllocated with its default
// weights.
double FreeScore(const NodeView& node, const PodWishes& pod) {
  double score = 0;
  for (const char* resource : {"cpu", "memory"}) {
    const double capacity = static_cast<double>(Of(node.allocatable, resource).nano());
    if (capacity <= 0) continue;
    const double used =
        static_cast<double>(Of(node.requested, resource).nano() + Of(pod.requests, resource).nano());
    score += std::max(0.0, 100 * (capacity - used) / capacity);
  }
  return score;
}

}  // namespace

Result<NodeView> ReadNode(const json::Value& value) {
  NodeView node;
  node.name = value["metadata"]["name"].AsString();
  node.labels = ReadMap(value["metadata"]["labels"]);
  node.unschedulable = value["spec"]["unschedulable"].AsBool();
  for (const json::Value& taint : value["spec"]["taints"].AsArray()) {
    node.taints.push_back({taint["key"].AsString(), taint["value"].AsString(), taint["effect"].AsString()});
  }
  model::Problems problems;
  for (const auto& [key, amount] : value["status"]["allocatable"].AsObject()) {
    const std::string text = model::FoundText(amount);
    if (auto quantity = Quantity::Parse(text)) {
      node.allocatable[key] = *quantity;
    } else {
      problems.Add("status.allocatable[" + key + "]", text, "a quantity such as 2, 500m or 64Gi");
    }
  }
  if (!problems.empty()) return Fail(problems.ToError());
  return node;
}

Result<PodWishes> ReadWishes(const json::Value& pod) {
  PodWishes wishes;
  ASSIGN_OR_RETURN(const PodResources resources, ReadPodResources(pod));
  ASSIGN_OR_RETURN(wishes.requests, PodRequests(resources));
  const json::Value& spec = pod["spec"];
  wishes.node_name = spec["nodeName"].AsString();
  wishes.node_selector = ReadMap(spec["nodeSelector"]);
  const json::Value& required =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!required.IsNull()) {
    wishes.affinity.emplace();
    for (const json::Value& term : required["nodeSelectorTerms"].AsArray()) {
      wishes.affinity->push_back(
          {ReadRequirements(term["matchExpressions"]), ReadRequirements(term["matchFields"])});
    }
  }
  for (const json::Value& toleration : spec["tolerations"].AsArray()) {
    wishes.tolerations.push_back({toleration["key"].AsString(), toleration["operator"].AsString(),
                                  toleration["value"].AsString(), toleration["effect"].AsString()});
  }
  return wishes;
}

Result<void> CountPod(NodeView& node, const PodWishes& pod) {
  RETURN_IF_ERROR(AddTo(node.requested, pod.requests));
  ++node.pods;
  return {};
}

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& toleration) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    if (toleration.op == "Exists") return true;
    return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
  });
}

bool MatchesNode(const PodWishes& pod, const NodeView& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  if (!pod.affinity) return true;
  return std::any_of(pod.affinity->begin(), pod.affinity->end(),
                     [&](const SelectorTerm& term) { return TermHolds(term, node); });
}

std::vector<std::string> WhyNot(const NodeView& node, const PodWishes& pod) {
  if (node.unschedulable && !Tolerates(pod.tolerations, {kUnschedulableTaint, "", "NoSchedule"})) {
    return {"node(s) were unschedulable"};
  }
  if (!pod.node_name.empty() && pod.node_name != node.name)
    return {"node(s) didn't match the requested node name"};
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || Tolerates(pod.tolerations, taint)) continue;
    return {"node(s) had untolerated taint {" + taint.key + ": " + taint.value + "}"};
  }
  if (!MatchesNode(pod, node)) return {"node(s) didn't match Pod's node affinity/selector"};
  return InsufficientResources(node, pod);
}

Placement ChooseNode(const std::vector<NodeView>& nodes, const PodWishes& pod) {
  if (nodes.empty()) return {"", "no nodes available to schedule pods"};
  const NodeView* best = nullptr;
  double best_score = 0;
  std::map<std::string, int> reasons;
  for (const NodeView& node : nodes) {
    const std::vector<std::string> why = WhyNot(node, pod);
    for (const std::string& reason : why) ++reasons[reason];
    if (!why.empty()) continue;
    const double score = FreeScore(node, pod);
    if (best == nullptr || score > best_score || (score == best_score && node.name < best->name)) {
      best = &node;
      best_score = score;
    }
  }
  if (best != nullptr) return {best->name, ""};
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) lines.push_back(std::to_string(count) + " " + reason);
  std::sort(lines.begin(), lines.end());
  std::string message = "0/" + std::to_string(nodes.size()) + " nodes are available:";
  for (size_t i = 0; i < lines.size(); ++i) message += (i == 0 ? " " : ", ") + lines[i];
  return {"", message + "."};
}

}  // namespace cubeplane::scheduler
