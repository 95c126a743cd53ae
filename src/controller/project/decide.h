// What a project needs in one cluster, and what is missing or different there. Pure.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "model/objects.h"

namespace cubeplane::controller::project {

// The objects of one binding as the cluster shows them; null when absent.
struct Seen {
  bool caches_complete = false;
  json::Value name_space, limit_range, quota, claim, service_account;
};

enum class Verb { kCreate, kUpdate };
struct Change {
  Verb verb = Verb::kCreate;
  std::string kind;  // "Namespace", "LimitRange", "ResourceQuota", "PersistentVolumeClaim"
  json::Value object;
};

struct Plan {
  std::vector<Change> changes;  // in order: the LimitRange comes before the quota, so that no pod is refused
                                // for want of defaults
  bool ready = false;
  model::Reason reason;  // when not ready: what is waited for
};

Plan Decide(const model::Project& project, const model::Binding& binding, std::string_view instance,
            const Seen& seen);

}  // namespace cubeplane::controller::project
