// Namespaces: a default ServiceAccount in each; one that is to go is emptied first.
#pragma once

#include <set>
#include <string>

#include "engine/api/registry.h"
#include "engine/controller.h"

namespace cubeplane::engine {

class Namespaces final : public Controller {
 public:
  Namespaces(const Cluster& cluster, Registry& registry) : cluster_(cluster), registry_(registry) {}
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  void Empty(const std::string& name);
  void EnsureAccount(const std::string& name);

  const Cluster& cluster_;
  Registry& registry_;
  std::set<std::string> marked_;
};

}  // namespace cubeplane::engine
