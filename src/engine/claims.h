// PersistentVolumeClaims are bound at once: the volume is the namespace's data folder.
#pragma once

#include <set>

#include "engine/controller.h"

namespace cubeplane::engine {

class Claims final : public Controller {
 public:
  explicit Claims(const Cluster& cluster) : cluster_(cluster) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  const Cluster& cluster_;
  std::set<ObjectKey> marked_;
};

}  // namespace cubeplane::engine
