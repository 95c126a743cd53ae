// Kubernetes' LimitRanger admission (plugin/pkg/admission/limitranger), with its words. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"
#include "scheduler/pod_resources.h"

namespace cubeplane::scheduler {

// One item of a LimitRange.
struct LimitItem {
  std::string type = "Container";  // Container, Pod, PersistentVolumeClaim
  model::LimitRange values;
};

// The items of a LimitRange object, with Kubernetes' silent defaults filled in. kInvalid for bad quantities.
Result<std::vector<LimitItem>> ReadLimitRange(const json::Value& limit_range);
// The one item of a binding.
std::vector<LimitItem> LimitItemsOf(const model::LimitRange& range);

// Fills what containers lack from the defaults. Call after CopyLimitsToRequests, as the API server does.
// Gives the text of the annotation `kubernetes.io/limit-ranger`, "" when nothing was filled.
std::string ApplyLimitRange(const std::vector<LimitItem>& items, PodResources& pod);

// kForbidden with every violation in Kubernetes' words: `maximum cpu usage per Container is 2, but limit is
// 4`; several stand in brackets with commas between.
Result<void> CheckLimitRange(const std::vector<LimitItem>& items, const PodResources& pod);
// The same for a claim's storage request.
Result<void> CheckClaimLimits(const std::vector<LimitItem>& items, const ResourceList& requests);

}  // namespace cubeplane::scheduler
