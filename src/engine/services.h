// Endpoints of Services with a selector: their pods, ready and not.
#pragma once

#include <set>

#include "engine/api/registry.h"
#include "engine/controller.h"

namespace cubeplane::engine {

class Services final : public Controller {
 public:
  Services(const Cluster& cluster, Registry& registry) : cluster_(cluster), registry_(registry) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  void Sync(const ObjectKey& service);
  json::Value Subsets(const json::Value& service) const;

  const Cluster& cluster_;
  Registry& registry_;
  std::set<std::string> marked_;  // namespaces
};

}  // namespace cubeplane::engine
