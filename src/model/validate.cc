#include "model/validate.h"

#include <algorithm>
#include <set>

#include "model/amounts.h"
#include "model/codec.h"
#include "model/problems.h"

namespace cubeplane::model {
namespace {

constexpr size_t kMaxLabels = 64, kMaxAnnotationBytes = 64 << 10, kMaxImage = 512, kMaxWords = 1000,
                 kMaxCommandBytes = 64 << 10, kMaxEnvBytes = 64 << 10, kMaxDisplayName = 200, kMaxUser = 64,
                 kMaxClusterName = 63;
constexpr int32_t kMaxReplicas = 1, kMaxWeight = 1000;
constexpr int64_t kMaxTimeLimit = int64_t{366} * 24 * 3600;
const Quantity kLeastMemory = Quantity::FromInt(int64_t{1} << 20, Quantity::Format::kBinarySI);

std::string At(const std::string& path, size_t index) { return path + "[" + std::to_string(index) + "]"; }

// A name with its own sentence (message 9 of the console).
void CheckNameInto(const std::string& path, const std::string& name, size_t max, Problems& problems) {
  const auto problem = CheckName(path, name, max);
  if (!problem) return;
  const size_t open = problem->allowed.find('`');
  const std::string suggestion = problem->allowed.substr(open + 1, problem->allowed.size() - open - 2);
  problems.Add(problem->path, problem->found, problem->allowed, "name_invalid",
               {{"found", problem->found}, {"suggestion", suggestion}, {"max", std::to_string(max)}});
}

void CheckMetadata(const Metadata& metadata, size_t max_name, Problems& problems) {
  CheckNameInto("metadata.name", metadata.name, max_name, problems);
  if (metadata.labels.size() > kMaxLabels) {
    problems.Add("metadata.labels", std::to_string(metadata.labels.size()) + " labels",
                 "at most " + std::to_string(kMaxLabels));
  }
  for (const auto& [key, value] : metadata.labels) {
    if (!IsLabelKey(key)) problems.Add("metadata.labels", key, "a key such as team or example.com/team");
    if (!IsLabelValue(value)) {
      problems.Add("metadata.labels[" + key + "]", value,
                   "letters, digits, and - _ . inside, at most 63 characters");
    }
  }
  size_t bytes = 0;
  for (const auto& [key, value] : metadata.annotations) {
    bytes += key.size() + value.size();
    if (!IsLabelKey(key)) problems.Add("metadata.annotations", key, "a key such as note or example.com/note");
  }
  if (bytes > kMaxAnnotationBytes) {
    problems.Add("metadata.annotations", std::to_string(bytes) + " bytes",
                 "at most " + std::to_string(kMaxAnnotationBytes) + " bytes");
  }
}

// ---- workloads ----

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void CheckWords(const char* path, const std::vector<std::string>& words, Problems& problems) {
  size_t bytes = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    bytes += words[i].size() + 1;
    if (words[i].find('\0') != std::string::npos)
      problems.Add(At(path, i), words[i], "text without a zero byte");
  }
  if (words.size() > kMaxWords || bytes > kMaxCommandBytes) {
    problems.Add(
        path, std::to_string(words.size()) + " words, " + std::to_string(bytes) + " bytes",
        "at most " + std::to_string(kMaxWords) + " words and " + std::to_string(kMaxCommandBytes) + " bytes");
  }
  if (!words.empty() && words[0].empty()) problems.Add(At(path, 0), "", "the program");
}

bool IsEnvName(std::string_view name) {
  if (name.empty() || name.size() > 256 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

void CheckEnv(const std::vector<EnvVar>& env, Problems& problems) {
  std::set<std::string_view> seen;
  size_t bytes = 0;
  for (size_t i = 0; i < env.size(); ++i) {
    const std::string path = At("spec.env", i) + ".name";
    bytes += env[i].name.size() + env[i].value.size();
    if (!IsEnvName(env[i].name)) {
      problems.Add(path, env[i].name, "letters, digits and _ - . with no digit first");
    } else if (env[i].name.starts_with("CUBEPLANE_")) {
      problems.Add(path, env[i].name,
                   "a name that does not begin with CUBEPLANE_, which cubeplane sets itself");
    } else if (!seen.insert(env[i].name).second) {
      problems.Add(path, env[i].name, "each name once");
    }
    if (env[i].value.find('\0') != std::string::npos) {
      problems.Add(At("spec.env", i) + ".value", env[i].value, "text without a zero byte");
    }
  }
  if (bytes > kMaxEnvBytes) {
    problems.Add("spec.env", std::to_string(bytes) + " bytes",
                 "at most " + std::to_string(kMaxEnvBytes) + " bytes");
  }
}

void CheckRequest(const std::string& path, std::string_view resource, const std::optional<Quantity>& request,
                  const Quantity& limit, Problems& problems) {
  if (!request) return;
  CheckAmount(path, resource, *request, problems);
  if (*request > limit) problems.Add(path, request->ToString(), "at most the limit, " + limit.ToString());
}

std::string KnownCards(std::string_view vendor) {
  std::vector<std::string_view> models;
  for (const Accelerator& row : Accelerators()) {
    if (!row.model.empty() && (vendor.empty() || row.vendor == vendor)) models.push_back(row.model);
  }
  return Join(models);
}

void CheckGpu(const GpuRequest& gpu, Problems& problems) {
  const std::string path = "spec.resources.gpu";
  if (gpu.milli_cards <= 0 || gpu.milli_cards % 1000 != 0) {
    problems.Add(path, GpuText(gpu), "whole cards; parts of a card are not shared out yet");
  }
  if (FindAccelerator(gpu.vendor, gpu.model) != nullptr) return;
  std::string known = KnownCards(gpu.vendor);
  if (known.empty()) known = KnownCards("");
  std::vector<std::string_view> models;
  for (const Accelerator& row : Accelerators()) models.push_back(row.model);
  const std::string near = DidYouMean(gpu.model, models);
  problems.Add(path, GpuText(gpu), (near.empty() ? "" : "did you mean `" + near + "`? ") + "one of " + known);
}

void CheckResources(const Resources& resources, Problems& problems) {
  const std::string path = "spec.resources.";
  if (resources.cpu.IsZero()) {
    problems.Add(path + "cpu", "0", "more than 0, such as 500m or 2");
  } else {
    CheckAmount(path + "cpu", "cpu", resources.cpu, problems);
  }
  CheckAmount(path + "memory", "memory", resources.memory, problems);
  if (!resources.memory.IsNegative() && resources.memory.IsWhole() && resources.memory < kLeastMemory) {
    problems.Add(path + "memory", resources.memory.ToString(), "at least 1Mi, such as 512Mi or 64Gi");
  }
  CheckRequest(path + "cpuRequest", "cpu", resources.cpu_request, resources.cpu, problems);
  CheckRequest(path + "memoryRequest", "memory", resources.memory_request, resources.memory, problems);
  CheckRequest(path + "shm", "memory", resources.shm, resources.memory, problems);
  if (resources.ephemeral_storage) {
    CheckAmount(path + "ephemeralStorage", "ephemeral-storage", *resources.ephemeral_storage, problems);
  }
  if (resources.gpu) CheckGpu(*resources.gpu, problems);
}

bool IsDigest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") &&
         text.substr(7).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

template <class T>
void CheckRange(const std::string& path, T value, T min, T max, std::string_view why, Problems& problems) {
  if (value >= min && value <= max) return;
  problems.Add(path, std::to_string(value),
               (min == max ? std::to_string(min) : std::to_string(min) + " to " + std::to_string(max)) +
                   std::string(why));
}

void CheckTraining(const WorkloadSpec& spec, Problems& problems) {
  if (spec.command.empty() && spec.args.empty() && spec.image.starts_with("env:")) {
    problems.Add("spec.command", "",
                 "the program to run, such as [python, train.py]; an environment has none of its own");
  }
  CheckRange("spec.replicas", spec.replicas, int32_t{1}, kMaxReplicas, "; several replicas are not built yet",
             problems);
  CheckRange("spec.retries", spec.retries, int32_t{0}, static_cast<int32_t>(kMaxAttempts) - 1, "", problems);
  CheckRange("spec.timeLimitSeconds", spec.time_limit_seconds, int64_t{0}, kMaxTimeLimit, " (0: none)",
             problems);
}

// ---- projects ----

bool IsUserName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxUser && !HasControl(name) &&
         name.find_first_of(" /\\") == std::string_view::npos;
}

void CheckPeople(const ProjectSpec& spec, Problems& problems) {
  for (size_t i = 0; i < spec.contacts.size(); ++i) {
    const std::string& email = spec.contacts[i].email;
    const size_t at = email.find('@');
    if (at == 0 || at == std::string::npos || at + 1 == email.size() || HasControl(email) ||
        email.size() > 254) {
      problems.Add(At("spec.contacts", i) + ".email", email, "an address such as nlp-oncall@example.com");
    }
  }
  std::set<std::string_view> users;
  for (size_t i = 0; i < spec.members.size(); ++i) {
    const std::string path = At("spec.members", i) + ".user";
    const std::string& user = spec.members[i].user;
    if (!IsUserName(user)) {
      problems.Add(path, user, "a user's name, without blanks and slashes, at most 64 bytes");
    } else if (!users.insert(user).second) {
      problems.Add(path, user, "each user once");
    }
  }
}

// The parts of a quota that pools get may not exceed the whole (decision 10).
void CheckPools(const std::string& path, const Binding& binding, Problems& problems) {
  std::set<std::string_view> names;
  ResourceList sums;
  for (size_t i = 0; i < binding.pools.size(); ++i) {
    const PoolQuota& pool = binding.pools[i];
    const std::string place = At(path + ".pools", i);
    if (!IsLabelValue(pool.name) || pool.name.empty()) {
      problems.Add(place + ".name", pool.name, "the name of a pool");
    } else if (!names.insert(pool.name).second) {
      problems.Add(place + ".name", pool.name, "each pool once");
    }
    CheckQuotaList(place + ".limits", pool.limits, problems);
    for (const auto& [key, amount] : pool.limits) {
      auto sum = Quantity::Sum(sums[key], amount);
      if (sum) {
        sums[key] = *sum;
      } else {
        problems.Add(place + ".limits[" + key + "]", amount.ToString(),
                     "a sum over the pools that can be counted");
      }
    }
  }
  for (const auto& [key, sum] : sums) {
    const auto line = binding.quota.find(key);
    if (line == binding.quota.end() || sum <= line->second) continue;
    problems.Add(path + ".pools", key + " " + sum.ToString() + " in all pools together",
                 "at most the quota's " + line->second.ToString(), "pools_exceed_quota",
                 {{"resource", key}, {"sum", sum.ToString()}, {"limited", line->second.ToString()}});
  }
}

void CheckBindings(const ProjectSpec& spec, Problems& problems) {
  std::set<std::string_view> clusters;
  for (size_t i = 0; i < spec.bindings.size(); ++i) {
    const Binding& binding = spec.bindings[i];
    const std::string path = At("spec.bindings", i);
    if (auto problem = CheckName(path + ".cluster", binding.cluster, kMaxClusterName)) {
      problems.Add(*problem);
    } else if (!clusters.insert(binding.cluster).second) {
      problems.Add(path + ".cluster", binding.cluster, "each cluster once");
    }
    if (binding.resource_group.empty() || !IsLabelValue(binding.resource_group)) {
      problems.Add(path + ".resourceGroup", binding.resource_group,
                   "the value of a node label, such as public");
    }
    CheckQuotaList(path + ".quota", binding.quota, problems);
    CheckLimitRange(path + ".limitRange", binding.limit_range, problems);
    CheckPools(path, binding, problems);
  }
}

}  // namespace

Result<void> Validate(const Workload& workload) {
  Problems problems;
  const WorkloadSpec& spec = workload.spec;
  CheckMetadata(workload.metadata, kMaxWorkloadName, problems);
  CheckNameInto("metadata.project", workload.metadata.project, kMaxProjectName, problems);
  if (spec.image.empty() || spec.image.size() > kMaxImage || HasControl(spec.image) ||
      spec.image.find(' ') != std::string::npos) {
    problems.Add("spec.image", spec.image,
                 "an environment (env:default) or an image (registry.local/train:1.4)");
  }
  CheckWords("spec.command", spec.command, problems);
  CheckWords("spec.args", spec.args, problems);
  CheckEnv(spec.env, problems);
  CheckResources(spec.resources, problems);
  if (!spec.code.empty() && !IsDigest(spec.code)) {
    problems.Add("spec.code", spec.code, "the digest of an uploaded archive, sha256: and 64 digits");
  }
  if (!IsLabelValue(spec.pool)) problems.Add("spec.pool", spec.pool, "the name of a pool, or nothing");
  if (!spec.cluster.empty()) {
    if (auto problem = CheckName("spec.cluster", spec.cluster, kMaxClusterName)) problems.Add(*problem);
  }
  if (spec.priority != "low" && spec.priority != "normal" && spec.priority != "high") {
    problems.Add("spec.priority", spec.priority, "one of low, normal, high");
  }
  if (workload.kind == WorkloadKind::kTrainingJob) CheckTraining(spec, problems);
  return problems.ToResult();
}

Result<void> Validate(const Project& project) {
  Problems problems;
  const ProjectSpec& spec = project.spec;
  CheckMetadata(project.metadata, kMaxProjectName, problems);
  if (spec.display_name.size() > kMaxDisplayName || HasControl(spec.display_name)) {
    problems.Add("spec.displayName", spec.display_name, "at most 200 bytes in one line");
  }
  CheckPeople(spec, problems);
  CheckBindings(spec, problems);
  if (!IsLabelValue(spec.cohort))
    problems.Add("spec.cohort", spec.cohort, "the name of a cohort, or nothing");
  CheckRange("spec.weight", spec.weight, int32_t{1}, kMaxWeight, "", problems);
  return problems.ToResult();
}

}  // namespace cubeplane::model
