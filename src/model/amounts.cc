#include "model/amounts.h"

#include <array>
#include <utility>

namespace cubeplane::model {
namespace {

bool IsBytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage" ||
         resource == "shm" || resource.starts_with("hugepages-");
}

// "0.128": thousandths as a decimal number.
std::string DecimalText(int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return text;
  std::string part = std::to_string(1000 + milli % 1000).substr(1);
  part.erase(part.find_last_not_of('0') + 1);
  return text + "." + part;
}

void AddBytesProblem(const std::string& path, const Quantity& amount, Problems& problems) {
  if (!amount.IsWholeMilli()) {
    problems.Add(path, amount.ToString(), "whole bytes, such as 64Gi");
    return;
  }
  const std::string found = amount.ToString();
  const std::string bytes = DecimalText(amount.MilliValue());
  const std::string suggestion = std::to_string(amount.MilliValue()) + "Mi";
  problems.Add(path, found,
               "whole bytes; " + found + " is " + bytes + " byte, did you mean " + suggestion + "?",
               "memory_in_bytes", {{"found", found}, {"bytes", bytes}, {"suggestion", suggestion}});
}

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// [A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?, at most 63
bool IsLabelName(std::string_view name) {
  if (name.empty() || name.size() > 63 || !IsLetterOrDigit(name.front()) || !IsLetterOrDigit(name.back()))
    return false;
  for (char c : name) {
    if (!IsLetterOrDigit(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

// A DNS subdomain, at most 253.
bool IsDomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  size_t start = 0;
  while (start <= text.size()) {
    size_t end = text.find('.', start);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view part = text.substr(start, end - start);
    if (!IsLabelName(part) || part.find_first_of("_ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos)
      return false;
    start = end + 1;
  }
  return true;
}

// "nvidia.com/gpu": a name of a domain other than Kubernetes' own.
bool IsExtended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && IsLabelKey(resource) &&
         resource.find("kubernetes.io/") == std::string_view::npos;
}

constexpr std::array<std::string_view, 3> kCompute = {"cpu", "memory", "ephemeral-storage"};
constexpr std::array<std::string_view, 10> kCounts = {"pods",
                                                      "persistentvolumeclaims",
                                                      "services",
                                                      "services.loadbalancers",
                                                      "services.nodeports",
                                                      "secrets",
                                                      "configmaps",
                                                      "replicationcontrollers",
                                                      "resourcequotas",
                                                      "requests.storage"};
constexpr std::string_view kStorageClass = ".storageclass.storage.k8s.io/";

template <size_t n>
bool Contains(const std::array<std::string_view, n>& words, std::string_view word) {
  for (std::string_view each : words) {
    if (each == word) return true;
  }
  return false;
}

// The bare resource of a quota's key, nullopt when no quota could enforce the key.
std::optional<std::string> QuotaResource(std::string_view key) {
  if (Contains(kCompute, key)) return std::string(key);
  if (key == "requests.storage") return "storage";
  if (Contains(kCounts, key)) return std::string(key);
  if (key.starts_with("count/") && key.size() > 6) return std::string(key);
  if (const size_t at = key.find(kStorageClass); at != std::string_view::npos && at > 0) {
    const std::string_view rest = key.substr(at + kStorageClass.size());
    if (rest == "requests.storage") return "storage";
    if (rest == "persistentvolumeclaims") return std::string(rest);
    return std::nullopt;
  }
  const bool request = key.starts_with("requests."), limit = key.starts_with("limits.");
  if (!request && !limit) return std::nullopt;
  const std::string_view resource = key.substr(key.find('.') + 1);
  if (Contains(kCompute, resource)) return std::string(resource);
  if (request && (IsExtended(resource) || resource.starts_with("hugepages-"))) return std::string(resource);
  return std::nullopt;
}

// How a bad quota key should be written.
std::string QuotaKeyAdvice(std::string_view key) {
  if (key.starts_with("limits.") && IsExtended(key.substr(7))) {
    return "`requests." + std::string(key.substr(7)) + "`; a quota counts cards by their requests only";
  }
  if (IsExtended(key)) {
    return "`requests." + std::string(key) +
           "`; a quota counts cards by their requests only, without that it has no effect";
  }
  std::vector<std::string_view> words = {"requests.cpu",
                                         "requests.memory",
                                         "limits.cpu",
                                         "limits.memory",
                                         "requests.ephemeral-storage",
                                         "limits.ephemeral-storage"};
  words.insert(words.end(), kCounts.begin(), kCounts.end());
  const std::string near = DidYouMean(key, words);
  return (near.empty() ? "" : "did you mean `" + near + "`? ") + "one of " + Join(words) +
         ", requests.<domain>/<resource>, count/<resource>";
}

void CheckPair(const std::string& path, const ResourceList& low, const char* high_name,
               const ResourceList& high, Problems& problems) {
  for (const auto& [key, value] : low) {
    const auto other = high.find(key);
    if (other == high.end() || value <= other->second) continue;
    problems.Add(path + "[" + key + "]", value.ToString(),
                 "at most " + std::string(high_name) + ", " + other->second.ToString());
  }
}

}  // namespace

bool IsLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelName(key);
  return IsDomain(key.substr(0, slash)) && IsLabelName(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsLabelName(value); }

void CheckAmount(const std::string& path, std::string_view resource, const Quantity& amount,
                 Problems& problems) {
  if (amount.IsNegative()) {
    problems.Add(path, amount.ToString(), "0 or more");
  } else if (resource == "cpu") {
    if (!amount.IsWholeMilli())
      problems.Add(path, amount.ToString(), "cores in thousandths, such as 500m or 2");
  } else if (IsBytes(resource)) {
    if (!amount.IsWhole()) AddBytesProblem(path, amount, problems);
  } else if (!amount.IsWhole()) {
    problems.Add(path, amount.ToString(), "a whole number");
  }
}

void CheckQuotaList(const std::string& path, const ResourceList& list, Problems& problems) {
  for (const auto& [key, amount] : list) {
    const std::string place = path + "[" + key + "]";
    if (const auto resource = QuotaResource(key)) {
      CheckAmount(place, *resource, amount, problems);
    } else {
      problems.Add(place, key, QuotaKeyAdvice(key));
    }
  }
}

void CheckLimitRange(const std::string& path, const LimitRange& range, Problems& problems) {
  const std::pair<const char*, const ResourceList*> lists[] = {{".default", &range.default_limit},
                                                               {".defaultRequest", &range.default_request},
                                                               {".max", &range.max},
                                                               {".min", &range.min},
                                                               {".maxLimitRequestRatio", &range.max_ratio}};
  for (const auto& [name, list] : lists) {
    for (const auto& [key, amount] : *list) {
      const std::string place = path + name + "[" + key + "]";
      if (!Contains(kCompute, key) && !IsExtended(key)) {
        problems.Add(place, key, "cpu, memory, ephemeral-storage or <domain>/<resource>");
      } else if (list == &range.max_ratio) {
        if (amount < Quantity::FromInt(1)) problems.Add(place, amount.ToString(), "1 or more");
      } else {
        CheckAmount(place, key, amount, problems);
      }
    }
  }
  CheckPair(path + ".min", range.min, "defaultRequest", range.default_request, problems);
  CheckPair(path + ".min", range.min, "default", range.default_limit, problems);
  CheckPair(path + ".min", range.min, "max", range.max, problems);
  CheckPair(path + ".defaultRequest", range.default_request, "default", range.default_limit, problems);
  CheckPair(path + ".defaultRequest", range.default_request, "max", range.max, problems);
  CheckPair(path + ".default", range.default_limit, "max", range.max, problems);
}

}  // namespace cubeplane::model
