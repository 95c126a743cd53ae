#include "controller/names.h"

namespace cubeplane::controller {

std::string NamespaceOf(std::string_view project) { return "proj-" + std::string(project); }
std::string QuotaName(std::string_view project) { return "quota-" + std::string(project); }
std::string LimitRangeName(std::string_view project) { return "limits-" + std::string(project); }

std::string BaseName(const model::Workload& workload) {
  const std::string& uid = workload.metadata.uid;
  return workload.metadata.name + "-" + uid.substr(uid.size() < 6 ? 0 : uid.size() - 6);
}

std::string PodName(const model::Workload& workload) {
  if (workload.kind == model::WorkloadKind::kNotebook) return BaseName(workload) + "-0";
  return BaseName(workload) + "-a" + std::to_string(CurrentAttempt(workload));
}

std::string SecretName(const model::Workload& workload) { return BaseName(workload) + "-door"; }
std::string CodeName(const model::Workload& workload) { return BaseName(workload) + "-code"; }

int32_t CurrentAttempt(const model::Workload& workload) {
  return workload.status.attempts.empty() ? 1 : workload.status.attempts.back().number;
}

std::string LabelValue(std::string_view text) {
  auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  std::string value;
  for (char c : text.substr(0, 63)) value.push_back(alphanumeric(c) || c == '.' || c == '_' ? c : '-');
  // A label value begins and ends with a letter or digit.
  while (!value.empty() && !alphanumeric(value.back())) value.pop_back();
  size_t start = 0;
  while (start < value.size() && !alphanumeric(value[start])) ++start;
  return value.substr(start);
}

bool IsOurs(const json::Value& object, std::string_view workload_uid) {
  return object["metadata"]["labels"][kLabelWorkload].AsString() == workload_uid;
}

json::Object WorkloadLabels(const model::Workload& workload, std::string_view instance) {
  json::Object labels;
  labels.Set(kManagedBy, "cubeplane");
  labels.Set(kLabelInstance, instance);
  labels.Set(kLabelProject, workload.metadata.project);
  labels.Set(kLabelWorkload, workload.metadata.uid);
  labels.Set(kLabelUser, LabelValue(workload.metadata.owner));
  labels.Set(kLabelKind, model::KindName(workload.kind));
  return labels;
}

}  // namespace cubeplane::controller
