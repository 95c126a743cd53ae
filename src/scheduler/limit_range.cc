#include "scheduler/limit_range.h"

#include <cstdio>
#include <limits>

#include "model/problems.h"

namespace cubeplane::scheduler {
namespace {

constexpr int64_t kMaxMilliValue = std::numeric_limits<int64_t>::max() / 1000;

struct Found {
  const Quantity* request = nullptr;
  const Quantity* limit = nullptr;
};

const Quantity* Find(const ResourceList& list, const std::string& key) {
  const auto place = list.find(key);
  return place == list.end() ? nullptr : &place->second;
}

// Kubernetes compares thousandths where all three fit, and units otherwise.
struct Comparable {
  int64_t request, limit, enforced;
  Comparable(const Found& found, const Quantity& bound) {
    const Quantity asked = found.request != nullptr ? *found.request : Quantity();
    const Quantity most = found.limit != nullptr ? *found.limit : Quantity();
    request = asked.Value();
    limit = most.Value();
    enforced = bound.Value();
    if (request > kMaxMilliValue || limit > kMaxMilliValue || enforced > kMaxMilliValue) return;
    request = asked.MilliValue();
    limit = most.MilliValue();
    enforced = bound.MilliValue();
  }
};

using Words = std::vector<std::string>;

void CheckMin(const std::string& type, const std::string& key, const Quantity& bound, const Found& found,
              Words& words) {
  const Comparable values(found, bound);
  const std::string start = "minimum " + key + " usage per " + type + " is " + bound.ToString();
  if (found.request == nullptr) {
    words.push_back(start + ".  No request is specified");
  } else if (values.request < values.enforced) {
    words.push_back(start + ", but request is " + found.request->ToString());
  } else if (found.limit != nullptr && values.limit < values.enforced) {
    words.push_back(start + ", but limit is " + found.limit->ToString());
  }
}

void CheckMax(const std::string& type, const std::string& key, const Quantity& bound, const Found& found,
              Words& words) {
  const Comparable values(found, bound);
  const std::string start = "maximum " + key + " usage per " + type + " is " + bound.ToString();
  if (found.limit == nullptr) {
    words.push_back(start + ".  No limit is specified");
  } else if (values.limit > values.enforced) {
    words.push_back(start + ", but limit is " + found.limit->ToString());
  } else if (found.request != nullptr && values.request > values.enforced) {
    words.push_back(start + ", but request is " + found.request->ToString());
  }
}

void CheckMaxRequest(const std::string& type, const std::string& key, const Quantity& bound,
                     const Found& found, Words& words) {
  const Comparable values(found, bound);
  const std::string start = "maximum " + key + " usage per " + type + " is " + bound.ToString();
  if (found.request == nullptr) {
    words.push_back(start + ".  No request is specified");
  } else if (values.request > values.enforced) {
    words.push_back(start + ", but request is " + found.request->ToString());
  }
}

void CheckRatio(const std::string& type, const std::string& key, const Quantity& bound, const Found& found,
                Words& words) {
  const Comparable values(found, bound);
  const std::string start = key + " max limit to request ratio per " + type + " is " + bound.ToString();
  if (found.request == nullptr || values.request == 0) {
    words.push_back(start + ", but no request is specified or request is 0");
    return;
  }
  if (found.limit == nullptr || values.limit == 0) {
    words.push_back(start + ", but no limit is specified or limit is 0");
    return;
  }
  const double ratio = static_cast<double>(values.limit) / static_cast<double>(values.request);
  if (ratio * 1000 <= static_cast<double>(bound.MilliValue())) return;
  char number[64];
  std::snprintf(number, sizeof number, "%f", ratio);
  words.push_back(start + ", but provided ratio is " + number);
}

void CheckLists(const LimitItem& item, const ResourceList& requests, const ResourceList& limits,
                Words& words) {
  auto found = [&](const std::string& key) { return Found{Find(requests, key), Find(limits, key)}; };
  for (const auto& [key, bound] : item.values.min) CheckMin(item.type, key, bound, found(key), words);
  for (const auto& [key, bound] : item.values.max) CheckMax(item.type, key, bound, found(key), words);
  for (const auto& [key, bound] : item.values.max_ratio) CheckRatio(item.type, key, bound, found(key), words);
}

// An aggregate of errors, each sentence once.
Result<void> Aggregate(const Words& words) {
  if (words.empty()) return {};
  Words unique;
  for (const std::string& word : words) {
    bool seen = false;
    for (const std::string& other : unique) seen = seen || other == word;
    if (!seen) unique.push_back(word);
  }
  std::string text;
  for (const std::string& word : unique) text += (text.empty() ? "" : ", ") + word;
  if (unique.size() > 1) text = "[" + text + "]";
  return Fail(Error(Code::kForbidden, "limit_range_refused", {{"message", text}}, text));
}

// SetDefaults_LimitRangeItem.
void FillSilentDefaults(LimitItem& item) {
  if (item.type != "Container") return;
  model::LimitRange& values = item.values;
  for (const auto& [key, amount] : values.max) values.default_limit.try_emplace(key, amount);
  for (const auto& [key, amount] : values.default_limit) values.default_request.try_emplace(key, amount);
  for (const auto& [key, amount] : values.min) values.default_request.try_emplace(key, amount);
}

void Fill(const ResourceList& defaults, ResourceList& list, Words& filled) {
  for (const auto& [key, amount] : defaults) {
    if (list.try_emplace(key, amount).second) filled.push_back(key);
  }
}

std::string JoinWords(const Words& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace

Result<std::vector<LimitItem>> ReadLimitRange(const json::Value& limit_range) {
  std::vector<LimitItem> items;
  model::Problems problems;
  for (const json::Value& value : limit_range["spec"]["limits"].AsArray()) {
    const std::string path = "spec.limits[" + std::to_string(items.size()) + "].";
    LimitItem& item = items.emplace_back();
    item.type = value["type"].AsString();
    item.values.default_limit = ReadList(value["default"], path + "default", problems);
    item.values.default_request = ReadList(value["defaultRequest"], path + "defaultRequest", problems);
    item.values.max = ReadList(value["max"], path + "max", problems);
    item.values.min = ReadList(value["min"], path + "min", problems);
    item.values.max_ratio = ReadList(value["maxLimitRequestRatio"], path + "maxLimitRequestRatio", problems);
    FillSilentDefaults(item);
  }
  if (!problems.empty()) return Fail(problems.ToError());
  return items;
}

std::vector<LimitItem> LimitItemsOf(const model::LimitRange& range) {
  if (range.empty()) return {};
  LimitItem item{"Container", range};
  FillSilentDefaults(item);
  return {std::move(item)};
}

std::string ApplyLimitRange(const std::vector<LimitItem>& items, PodResources& pod) {
  ResourceList default_limits, default_requests;
  for (const LimitItem& item : items) {
    if (item.type != "Container") continue;
    for (const auto& [key, amount] : item.values.default_limit) default_limits[key] = amount;
    for (const auto& [key, amount] : item.values.default_request) default_requests[key] = amount;
  }
  Words notes;
  auto fill = [&](std::vector<ContainerResources>& containers, const char* what) {
    for (ContainerResources& container : containers) {
      Words limits, requests;
      Fill(default_limits, container.limits, limits);
      Fill(default_requests, container.requests, requests);
      if (!requests.empty())
        notes.push_back(JoinWords(requests, ", ") + " request for " + what + " " + container.name);
      if (!limits.empty())
        notes.push_back(JoinWords(limits, ", ") + " limit for " + what + " " + container.name);
    }
  };
  fill(pod.containers, "container");
  fill(pod.init_containers, "init container");
  return notes.empty() ? "" : "LimitRanger plugin set: " + JoinWords(notes, "; ");
}

Result<void> CheckLimitRange(const std::vector<LimitItem>& items, const PodResources& pod) {
  Words words;
  for (const LimitItem& item : items) {
    if (item.type == "Container") {
      for (const auto* containers : {&pod.containers, &pod.init_containers}) {
        for (const ContainerResources& container : *containers) {
          CheckLists(item, container.requests, container.limits, words);
        }
      }
    } else if (item.type == "Pod") {
      PodResources bare = pod;
      bare.overhead.clear();
      ASSIGN_OR_RETURN(const ResourceList requests, PodRequests(bare));
      ASSIGN_OR_RETURN(const ResourceList limits, PodLimits(bare));
      CheckLists(item, requests, limits, words);
    }
  }
  return Aggregate(words);
}

Result<void> CheckClaimLimits(const std::vector<LimitItem>& items, const ResourceList& requests) {
  Words words;
  for (const LimitItem& item : items) {
    if (item.type != "PersistentVolumeClaim") continue;
    for (const auto& [key, bound] : item.values.min)
      CheckMin(item.type, key, bound, {Find(requests, key), nullptr}, words);
    for (const auto& [key, bound] : item.values.max)
      CheckMaxRequest(item.type, key, bound, {Find(requests, key), nullptr}, words);
  }
  return Aggregate(words);
}

}  // namespace cubeplane::scheduler
