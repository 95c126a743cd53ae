// The one decision: may this workload have this much of that binding's quota, and if not, what is the
// smallest change that would let it in. Pure: no clock, no I/O. The ledger calls it inside its transaction.
//
// The arithmetic is Kubernetes' (quota.h), over what is reserved. Limits of pools are our own and named as
// such.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/objects.h"
#include "scheduler/pod_resources.h"

namespace cubeplane::scheduler {

struct PoolView {
  std::string name;
  ResourceList limits, used;
  model::StringMap selector;  // node labels of the pool; a card's model must not contradict `gpu-type`. May
                              // be empty: unknown
};

// A binding as it stands: its limits and what is reserved of them, by quota key ("requests.cpu").
struct BindingView {
  std::string project, cluster;
  std::string quota_name;  // "quota-nlp", for Kubernetes' sentence
  ResourceList quota, used;
  std::vector<PoolView> pools;
  std::vector<ResourceList> node_allocatable;  // per node of the resource group; empty: not known
};

// What a workload asks of any binding.
struct Request {
  ResourceList usage;         // quota keys; WorkloadUsage
  ResourceList pod_requests;  // of one pod, by resource; for node sizes
  std::string pool;           // asked for; "" : admission chooses
  std::string gpu_model;      // "" : any
  bool has_cards = false;     // asks for an accelerator
};
// Of a defaulted, valid workload. kForbidden when the limit range forbids it, kInvalid on overflow.
Result<Request> MakeRequest(const model::Workload& workload, const model::LimitRange& limits);

// Someone ahead in the line, who must get his share first.
struct Ahead {
  ResourceList usage;
  std::string pool;  // where it was counted last; "" : none
};

// The sums over all those ahead, so that a long line costs each that waits no more than a short one.
class AheadSums {
 public:
  AheadSums() = default;
  explicit AheadSums(const std::vector<Ahead>& ahead);
  void Add(const Ahead& ahead);
  bool empty() const { return count_ == 0; }

  struct Line {
    Quantity sum;   // what they ask
    int count = 0;  // how many of them ask
  };
  // Of a quota key: over all of them (`pool` empty), or over those who were counted in that pool.
  Line Of(const std::string& pool, const std::string& key) const;

 private:
  int count_ = 0;
  std::map<std::pair<std::string, std::string>, Line> lines_;  // (pool, key); pool "": all
};

// One line that refuses: the quota's (`pool` empty), or a pool's.
struct Short {
  std::string resource;  // quota key
  std::string pool;
  Quantity requested, used, limited;
  Quantity ahead;       // what those ahead ask of it
  int ahead_count = 0;  // how many of them
  // In base units (ToBaseUnits), by decision 8. `reduce`: how much less must be asked; absent when asking
  // less does not help, because those ahead do not fit themselves. `raise`: how much higher the limit must
  // be.
  std::optional<Quantity> reduce;
  Quantity raise;
  bool never = false;  // more than the whole limit
};

// No node of the cluster is as large as one pod.
struct NodeShort {
  std::string resource;
  Quantity requested, largest;
};

struct Verdict {
  bool admitted = false;
  std::string pool;                    // the one pool that admission fixed; "" : none
  std::vector<Short> shorts;           // sorted by resource, then pool
  std::vector<NodeShort> node_shorts;  // never fits
  std::string unknown_pool;            // asked for a pool that the binding has not
  bool reducible = false;              // asking less in every short line lets it in
  // It can never be admitted as the limits stand.
  bool never() const;
};

// Admitted when what is reserved, all those ahead and the request fit together. Applying every `raise`, or,
// when `reducible`, every `reduce`, leads to admission; one base unit less in any of them does not.
Verdict DecideBehind(const BindingView& view, const AheadSums& ahead, const Request& request);
inline Verdict Decide(const BindingView& view, const std::vector<Ahead>& ahead, const Request& request) {
  return DecideBehind(view, AheadSums(ahead), request);
}

// Reserves: the view with the request counted in. kInvalid on overflow.
Result<BindingView> Reserve(BindingView view, const Request& request, const std::string& pool);
// Gives it back; never below zero (that would be a bug and is kInternal).
Result<BindingView> Release(BindingView view, const ResourceList& usage, const std::string& pool);

// Why, one reason for each line that refuses (api/reasons.yaml), the first rule first.
std::vector<model::Reason> ReasonsOf(const BindingView& view, const Verdict& verdict);
// kQuotaExceeded in Kubernetes' words: `exceeded quota: NAME, requested: …, used: …, limited: …`, with what
// would fit.
Error RefusalOf(const BindingView& view, const Verdict& verdict);

}  // namespace cubeplane::scheduler
