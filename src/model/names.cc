// Words of the enums.
#include "model/names.h"

#include "model/objects.h"

namespace cubeplane::model {

const std::vector<std::string_view> kRoleWords = {"viewer", "member", "lead"};
const std::vector<std::string_view> kPhaseWords = {"waiting",  "admitted",  "starting", "running",
                                                   "stopping", "succeeded", "failed",   "stopped"};

namespace {

template <class T>
std::optional<T> FromWord(const std::vector<std::string_view>& words, std::string_view name) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name) return static_cast<T>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view KindName(WorkloadKind kind) {
  return kind == WorkloadKind::kNotebook ? "Notebook" : "TrainingJob";
}
std::string_view PluralName(WorkloadKind kind) {
  return kind == WorkloadKind::kNotebook ? "notebooks" : "trainingjobs";
}
std::string_view PhaseName(Phase phase) { return kPhaseWords[static_cast<size_t>(phase)]; }
std::string_view RoleName(Role role) { return kRoleWords[static_cast<size_t>(role)]; }

std::optional<WorkloadKind> ParseKind(std::string_view kind_or_plural) {
  for (WorkloadKind kind : {WorkloadKind::kNotebook, WorkloadKind::kTrainingJob}) {
    if (kind_or_plural == KindName(kind) || kind_or_plural == PluralName(kind)) return kind;
  }
  return std::nullopt;
}
std::optional<Phase> ParsePhase(std::string_view name) { return FromWord<Phase>(kPhaseWords, name); }
std::optional<Role> ParseRole(std::string_view name) { return FromWord<Role>(kRoleWords, name); }

}  // namespace cubeplane::model
