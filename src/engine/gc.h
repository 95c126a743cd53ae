// The garbage collector: what is owned goes with its owners, as ownerReferences and the finalizers
// foregroundDeletion and orphan say.
#pragma once

#include <set>
#include <string>

#include "engine/api/registry.h"
#include "engine/controller.h"

namespace cubeplane::engine {

class GarbageCollector final : public Controller {
 public:
  GarbageCollector(const Cluster& cluster, Registry& registry) : cluster_(cluster), registry_(registry) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  void DeleteOwned(const std::string& owner_uid, bool blocking_only);
  void Orphan(const ObjectKey& owner);
  void Foreground(const ObjectKey& owner);
  void DropFinalizer(const ObjectKey& key, const std::string& finalizer);

  const Cluster& cluster_;
  Registry& registry_;
  std::set<std::string> gone_;      // UIDs of owners that are no more
  std::set<ObjectKey> finalizing_;  // owners with a finalizer of ours
};

}  // namespace cubeplane::engine
