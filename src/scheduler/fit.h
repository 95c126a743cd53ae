// kube-scheduler's filters for one pod and one node, in its order and with its words. Pure.
//
// Order: unschedulable, node name, taints, node selector and required affinity, resources; a node gives the
// reasons of the first filter that refuses. The words are those of Kubernetes 1.24 to 1.34, which name the
// taint. Ports, volumes, pod affinity, topology spread and preemption are not judged here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"
#include "scheduler/pod_resources.h"

namespace cubeplane::scheduler {

struct Taint {
  std::string key, value, effect;
};
struct Toleration {
  std::string key, op, value, effect;  // op: "" and Equal compare the value, Exists does not
};

// A node with what its pods have requested.
struct NodeView {
  std::string name;
  model::StringMap labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  ResourceList allocatable;  // with "pods": how many
  ResourceList requested;
  int64_t pods = 0;
};

// One requirement of a node selector term: In, NotIn, Exists, DoesNotExist, Gt, Lt.
struct Requirement {
  std::string key, op;
  std::vector<std::string> values;
};
struct SelectorTerm {
  std::vector<Requirement> labels, fields;  // all must hold; a term without any matches nothing
};

// What a pod wants of its node.
struct PodWishes {
  ResourceList requests;
  std::string node_name;  // already bound, or asked for
  model::StringMap node_selector;
  std::optional<std::vector<SelectorTerm>> affinity;  // required terms, one of which must hold
  std::vector<Toleration> tolerations;
};

// From Kubernetes objects. `requested` and `pods` of the node start at zero. kInvalid for bad quantities.
Result<NodeView> ReadNode(const json::Value& node);
Result<PodWishes> ReadWishes(const json::Value& pod);
// Counts a pod that is bound to the node and has not ended.
Result<void> CountPod(NodeView& node, const PodWishes& pod);

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
bool MatchesNode(const PodWishes& pod, const NodeView& node);

// Why the node cannot take the pod ("Insufficient cpu"); empty when it can.
std::vector<std::string> WhyNot(const NodeView& node, const PodWishes& pod);

struct Placement {
  std::string node;     // "" : none fits
  std::string message;  // `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`
};
// The node that fits and is least used after taking the pod (cpu and memory alike); of equals the first by
// name.
Placement ChooseNode(const std::vector<NodeView>& nodes, const PodWishes& pod);

}  // namespace cubeplane::scheduler
