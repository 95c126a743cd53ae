// Kubernetes' ResourceQuota admission (apiserver/pkg/admission/plugin/resourcequota CheckRequest, quota/v1),
// with its words. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"
#include "scheduler/pod_resources.h"

namespace cubeplane::scheduler {

struct Quota {
  std::string name;
  ResourceList hard, used;
  std::vector<std::string>
      scopes;  // Terminating, NotTerminating, BestEffort, NotBestEffort; others match nothing
};

// Name, status.hard (spec.hard while the status is empty), status.used (0 for keys not there yet),
// spec.scopes.
Result<Quota> ReadQuota(const json::Value& quota);

// Whether the quota counts this pod at all: its scopes match and it limits something that pods use.
bool QuotaMatchesPod(const Quota& quota, const PodResources& pod);

// kForbidden `failed quota: NAME: must specify limits.cpu for: main,helper; …`: a quota on cpu or memory
// wants a value from every container.
Result<void> CheckMustSpecify(const Quota& quota, const PodResources& pod);

// kQuotaExceeded `exceeded quota: NAME, requested: a=1, used: a=8, limited: a=8` when `delta` does not fit.
// Parts of `delta` that are zero, and keys that the quota does not limit, do not count; a negative part is
// refused.
Result<void> CheckQuota(const Quota& quota, const ResourceList& delta);

// Everything that an API server asks of a new pod with these quotas, in its order. Gives each quota's new
// `used`.
Result<std::vector<Quota>> AdmitPod(const std::vector<Quota>& quotas, const PodResources& pod);
// The same for an object that is only counted: `plural` "services", `group` "" or "apps"; `extra` holds
// further keys (requests.storage of a claim, services.nodeports of a service).
Result<std::vector<Quota>> AdmitObject(const std::vector<Quota>& quotas, const std::string& plural,
                                       const std::string& group, const ResourceList& extra);
// Usage keys of such an object: count/<plural>[.<group>], the old plain name where Kubernetes has one, and
// `extra`.
ResourceList ObjectUsage(const std::string& plural, const std::string& group, const ResourceList& extra);
// Extra keys of a claim (requests.storage, per storage class) and of a service (node ports, load balancers).
Result<ResourceList> ClaimUsage(const json::Value& claim);
ResourceList ServiceUsage(const json::Value& service);

}  // namespace cubeplane::scheduler
