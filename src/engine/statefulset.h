// The StatefulSet controller: ordinals with fixed names, in order or in parallel, replaced when the template
// changes.
//
// Never two pods of one ordinal: a pod's successor has its name, so it cannot be made before the old one is
// gone, and the old one goes only when the runtime has proved its processes gone (law 2).
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/api/registry.h"
#include "engine/controller.h"
#include "engine/events.h"

namespace cubeplane::engine {

inline constexpr Duration kReplaceMin = std::chrono::seconds(1);
inline constexpr Duration kReplaceMax = std::chrono::minutes(5);
inline constexpr Duration kReplaceForget =
    std::chrono::minutes(10);  // a pod that lived so long is a fresh start

class StatefulSets final : public Controller {
 public:
  StatefulSets(const Cluster& cluster, Registry& registry, Recorder& recorder, Host host)
      : cluster_(cluster), registry_(registry), recorder_(recorder), host_(std::move(host)) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  struct Backoff {
    int failures = 0;
    Mono not_before{};
  };
  using Pods = std::map<int64_t, ObjectPtr>;  // by ordinal

  void Sync(const ObjectKey& key);
  void Step(const ObjectKey& key, const json::Value& set, const Pods& pods);
  bool StepOrdinal(const ObjectKey& key, const json::Value& set, const Pods& pods, int64_t ordinal);
  void CreatePod(const ObjectKey& key, const json::Value& set, int64_t ordinal);
  void CreateClaims(const json::Value& set, int64_t ordinal, json::Value& pod);
  void DeletePod(const json::Value& pod);
  void WriteStatus(const ObjectKey& key, const json::Value& set);
  Pods PodsOf(const json::Value& set) const;
  async::Task<void> MarkAt(ObjectKey key, Duration wait);

  const Cluster& cluster_;
  Registry& registry_;
  Recorder& recorder_;
  const Host host_;
  std::set<ObjectKey> marked_;
  std::map<std::string, Backoff> backoffs_;  // by UID of the set and ordinal
};

}  // namespace cubeplane::engine
