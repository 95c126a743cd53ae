// Names and labels of what cubeplane makes in a cluster: deterministic, so that creating twice is harmless.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "model/objects.h"

namespace cubeplane::controller {

inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kLabelProject = "cubeplane.io/project";
inline constexpr std::string_view kLabelWorkload = "cubeplane.io/workload";
inline constexpr std::string_view kLabelAttempt = "cubeplane.io/attempt";
inline constexpr std::string_view kLabelUser = "cubeplane.io/user";
inline constexpr std::string_view kLabelKind = "cubeplane.io/kind";
inline constexpr std::string_view kLabelInstance = "cubeplane.io/instance";

// Annotations that the embedded engine reads and writes (engine/README.md).
inline constexpr std::string_view kDoorPort = "cubeplane.io/door-port";
inline constexpr std::string_view kDoorSecret = "cubeplane.io/door-secret";
inline constexpr std::string_view kDoor = "cubeplane.io/door";
inline constexpr std::string_view kDataId = "cubeplane.io/data-id";

inline constexpr std::string_view kDataClaim = "data";

// "proj-nlp", "quota-nlp", "limits-nlp"
std::string NamespaceOf(std::string_view project);
std::string QuotaName(std::string_view project);
std::string LimitRangeName(std::string_view project);

// "bert-ft-9f3a1c": the workload's name and the last six digits of its UID (chance, not time).
std::string BaseName(const model::Workload& workload);
// Training: "<base>-a<attempt>". Notebook: "<base>-0", the StatefulSet's only pod.
std::string PodName(const model::Workload& workload);
std::string SecretName(const model::Workload& workload);
std::string CodeName(const model::Workload& workload);

// The number of the attempt that is reserved, sent or running; 1 before the first.
int32_t CurrentAttempt(const model::Workload& workload);

// A label value made of any text: other characters become '-', cut to 63.
std::string LabelValue(std::string_view text);

// Whether the object carries that workload's UID in its labels.
bool IsOurs(const json::Value& object, std::string_view workload_uid);

// The labels that every object of a workload carries.
json::Object WorkloadLabels(const model::Workload& workload, std::string_view instance);

}  // namespace cubeplane::controller
