// LimitRange and ResourceQuota: admission of new objects by scheduler/quota.h and scheduler/limit_range.h,
// and the quotas' status.
//
// Admission counts what is stored at that moment, not the status: on the one control thread nothing can come
// between the count and the create, so no two creates share the same room (law 1). Threading: the control
// thread only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/controller.h"
#include "engine/status.h"
#include "scheduler/quota.h"

namespace cubeplane::engine {

class Quotas final : public Controller {
 public:
  explicit Quotas(const Cluster& cluster) : cluster_(cluster) {}

  // A Registry::Admit: fills a pod's resources from the LimitRanges, then checks limits and quotas. Errors:
  // 403 in Kubernetes' words.
  Answer<void> Admit(const Kind& kind, json::Value& object, const json::Value* before) const;

  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  Answer<void> AdmitPod(const Kind& kind, json::Value& pod) const;
  Answer<void> AdmitClaim(const Kind& kind, const json::Value& claim) const;
  Result<scheduler::ResourceList> UsageOf(const Kind& kind, const json::Value& object,
                                          const scheduler::Quota& quota) const;
  Result<scheduler::ResourceList> Used(const std::string& space, const scheduler::Quota& quota) const;
  Result<std::vector<scheduler::Quota>> QuotasOf(const std::string& space) const;

  const Cluster& cluster_;
  std::set<std::string> marked_;  // namespaces
};

}  // namespace cubeplane::engine
