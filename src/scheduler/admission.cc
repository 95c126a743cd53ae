#include "scheduler/admission.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "model/labels.h"
#include "model/reasons.h"
#include "model/validate.h"
#include "scheduler/limit_range.h"

namespace cubeplane::scheduler {
namespace {

using model::Reason;

// Sums here are of values that were each accepted below 2^63 units; a sum that still overflows counts as the
// largest number, so that it is refused and never admitted.
Quantity Plus(const Quantity& a, const Quantity& b) {
  auto sum = Quantity::Sum(a, b);
  return sum ? *sum : Quantity::FromNano(static_cast<__int128>(INT64_MAX) * 1'000'000'000 * 1'000'000'000);
}
Quantity Minus(const Quantity& a, const Quantity& b) {
  auto difference = Quantity::Difference(a, b);
  return difference ? *difference : Quantity();
}

Quantity Of(const ResourceList& list, const std::string& key) {
  const auto found = list.find(key);
  return found == list.end() ? Quantity() : found->second;
}

// Rounded up to whole base units of the key: thousandths for cpu, units for all else.
Quantity UpToUnit(const std::string& key, const Quantity& amount) {
  const bool cores = key == "requests.cpu" || key == "limits.cpu" || key == "cpu";
  const __int128 unit = cores ? 1'000'000 : 1'000'000'000;
  const __int128 rest = amount.nano() % unit;
  return rest <= 0 ? amount : Quantity::FromNano(amount.nano() - rest + unit, amount.format());
}

// The lines of one limit list (the quota, or one pool) that refuse.
void AddShorts(const ResourceList& limits, const ResourceList& used, const std::string& pool,
               const AheadSums& ahead, const ResourceList& usage, std::vector<Short>& shorts) {
  for (const auto& [key, limit] : limits) {
    Short line;
    line.resource = key;
    line.pool = pool;
    line.requested = Of(usage, key);
    line.used = Of(used, key);
    line.limited = limit;
    const AheadSums::Line others = ahead.Of(pool, key);
    line.ahead = others.sum;
    line.ahead_count = others.count;
    // What asks for nothing of a line is not held up by it, even when the line was shrunk below its use.
    if (line.requested.IsZero() && line.ahead.IsZero()) continue;
    const Quantity total = Plus(Plus(line.used, line.ahead), line.requested);
    if (total <= limit) continue;
    line.raise = UpToUnit(key, Minus(total, limit));
    line.never = line.requested > limit;
    const bool ahead_fits = line.ahead.IsZero() || Plus(line.used, line.ahead) <= limit;
    if (ahead_fits && !line.requested.IsZero()) line.reduce = std::min(line.raise, line.requested);
    shorts.push_back(std::move(line));
  }
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool IsCardKey(const std::string& key) {
  return key.starts_with("requests.") && key.find('/') != std::string::npos;
}

// Whether the pool's selector lets a card of that model in.
bool ModelFits(const PoolView& pool, const std::string& model) {
  const auto label = pool.selector.find(model::Labels().gpu_model);
  return model.empty() || label == pool.selector.end() || SameWord(label->second, model);
}

// The pools that the request may go to; one null entry when it needs none.
std::vector<const PoolView*> Candidates(const BindingView& view, const Request& request) {
  std::vector<const PoolView*> pools;
  for (const PoolView& pool : view.pools) {
    if (!request.pool.empty()) {
      if (pool.name == request.pool) pools.push_back(&pool);
      continue;
    }
    if (!request.has_cards || !ModelFits(pool, request.gpu_model)) continue;
    const bool counts_them = std::all_of(request.usage.begin(), request.usage.end(), [&](const auto& line) {
      return !IsCardKey(line.first) || pool.limits.contains(line.first);
    });
    if (counts_them) pools.push_back(&pool);
  }
  if (pools.empty() && request.pool.empty()) pools.push_back(nullptr);
  return pools;
}

Verdict DecideFor(const BindingView& view, const AheadSums& ahead, const Request& request,
                  const PoolView* pool) {
  Verdict verdict;
  if (pool != nullptr) verdict.pool = pool->name;
  AddShorts(view.quota, view.used, "", ahead, request.usage, verdict.shorts);
  if (pool != nullptr) AddShorts(pool->limits, pool->used, pool->name, ahead, request.usage, verdict.shorts);
  std::sort(verdict.shorts.begin(), verdict.shorts.end(), [](const Short& a, const Short& b) {
    return std::pair(a.resource, a.pool) < std::pair(b.resource, b.pool);
  });
  verdict.admitted = verdict.shorts.empty();
  verdict.reducible =
      !verdict.admitted && std::all_of(verdict.shorts.begin(), verdict.shorts.end(),
                                       [](const Short& line) { return line.reduce.has_value(); });
  return verdict;
}

// How much less must be asked in all. The quota and a pool may both refuse a resource; asking less serves
// both.
Quantity SizeOfReduction(const Verdict& verdict) {
  ResourceList changes;
  for (const Short& line : verdict.shorts) {
    if (line.reduce) changes[line.resource] = std::max(changes[line.resource], *line.reduce);
  }
  Quantity size;
  for (const auto& [key, amount] : changes) size = Plus(size, amount);
  return size;
}

Quantity SizeOfRaise(const Verdict& verdict) {
  Quantity size;
  for (const Short& line : verdict.shorts) size = Plus(size, line.raise);
  return size;
}

// Of two refusals, the one with the smaller change, asking less before raising limits: no other is then
// smaller in every part.
bool IsNearer(const Verdict& a, const Verdict& b) {
  if (a.reducible != b.reducible) return a.reducible;
  const Quantity left = a.reducible ? SizeOfReduction(a) : Quantity();
  const Quantity right = b.reducible ? SizeOfReduction(b) : Quantity();
  if (left != right) return left < right;
  return SizeOfRaise(a) < SizeOfRaise(b);
}

// What one pod asks for and no node has, seen over all nodes at once.
std::vector<NodeShort> FindNodeShorts(const BindingView& view, const Request& request) {
  std::vector<NodeShort> shorts;
  if (view.node_allocatable.empty()) return shorts;
  for (const auto& [resource, asked] : request.pod_requests) {
    if (asked.IsZero()) continue;
    Quantity largest;
    for (const ResourceList& node : view.node_allocatable) largest = std::max(largest, Of(node, resource));
    if (asked > largest) shorts.push_back({resource, asked, largest});
  }
  return shorts;
}

std::string Bare(const std::string& key) { return key.starts_with("requests.") ? key.substr(9) : key; }

Reason ShortReason(const BindingView& view, const Short& line) {
  Params params = {{"resource", Bare(line.resource)},
                   {"project", view.project},
                   {"cluster", view.cluster},
                   {"requested", line.requested.ToString()},
                   {"used", line.used.ToString()},
                   {"limited", line.limited.ToString()},
                   {"raise", Plus(line.limited, line.raise).ToString()}};
  if (!line.pool.empty()) params.emplace_back("pool", line.pool);
  std::string code = line.pool.empty() ? "quota_short" : "pool_short";
  if (line.ahead_count > 0) {
    params.emplace_back("n", std::to_string(line.ahead_count));
    params.emplace_back("ahead", line.ahead.ToString());
    return {code + "_ahead", std::move(params)};
  }
  const Quantity fits = line.reduce ? Minus(line.requested, *line.reduce) : Quantity();
  if (fits.IsZero()) return {code + "_full", std::move(params)};
  params.emplace_back("fits", fits.ToString());
  return {line.never && line.pool.empty() ? "quota_never" : code, std::move(params)};
}

// The most that may be asked for instead, over quota, pool and nodes; none when that would be nothing at all.
std::optional<ResourceList> WhatFits(const Verdict& verdict) {
  ResourceList fits;
  for (const Short& line : verdict.shorts) {
    if (!line.reduce) return std::nullopt;
    const Quantity rest = Minus(line.requested, *line.reduce);
    const auto known = fits.find(line.resource);
    fits[line.resource] = known == fits.end() ? rest : std::min(known->second, rest);
  }
  for (const NodeShort& line : verdict.node_shorts) {
    const std::string key = "requests." + line.resource;
    const auto known = fits.find(key);
    fits[key] = known == fits.end() ? line.largest : std::min(known->second, line.largest);
  }
  if (std::any_of(fits.begin(), fits.end(), [](const auto& line) { return line.second.IsZero(); }))
    return std::nullopt;
  return fits;
}

// "limits.cpu=3,requests.cpu=3", with the pool's lines behind its name.
std::string RaisedLimits(const Verdict& verdict) {
  ResourceList quota, pool;
  for (const Short& line : verdict.shorts)
    (line.pool.empty() ? quota : pool)[line.resource] = Plus(line.limited, line.raise);
  std::string text = quota.empty() ? "" : ListText(quota);
  if (!pool.empty()) text += (text.empty() ? "" : "; ") + verdict.pool + ": " + ListText(pool);
  return text;
}

}  // namespace

Result<Request> MakeRequest(const model::Workload& workload, const model::LimitRange& limits) {
  PodResources pod = ResourcesOf(workload);
  RETURN_IF_ERROR(CheckLimitRange(LimitItemsOf(limits), pod));
  Request request;
  ASSIGN_OR_RETURN(request.usage, WorkloadUsage(workload));
  ASSIGN_OR_RETURN(request.pod_requests, PodRequests(pod));
  request.pool = workload.spec.pool;
  request.has_cards = workload.spec.resources.gpu.has_value();
  if (request.has_cards) request.gpu_model = workload.spec.resources.gpu->model;
  return request;
}

AheadSums::AheadSums(const std::vector<Ahead>& ahead) {
  for (const Ahead& each : ahead) Add(each);
}

void AheadSums::Add(const Ahead& ahead) {
  ++count_;
  auto add = [this](const std::string& pool, const std::string& key, const Quantity& asks) {
    Line& line = lines_[{pool, key}];
    line.sum = Plus(line.sum, asks);
    ++line.count;
  };
  for (const auto& [key, asks] : ahead.usage) {
    if (asks.IsZero()) continue;
    add("", key, asks);
    if (!ahead.pool.empty()) add(ahead.pool, key, asks);
  }
}

AheadSums::Line AheadSums::Of(const std::string& pool, const std::string& key) const {
  const auto found = lines_.find({pool, key});
  return found == lines_.end() ? Line{} : found->second;
}

bool Verdict::never() const {
  return !node_shorts.empty() || !unknown_pool.empty() ||
         std::any_of(shorts.begin(), shorts.end(), [](const Short& line) { return line.never; });
}

Verdict DecideBehind(const BindingView& view, const AheadSums& ahead, const Request& request) {
  const std::vector<const PoolView*> pools = Candidates(view, request);
  if (pools.empty()) {
    Verdict unknown;
    unknown.unknown_pool = request.pool;
    return unknown;
  }
  std::optional<Verdict> best;
  for (const PoolView* pool : pools) {
    Verdict verdict = DecideFor(view, ahead, request, pool);
    if (verdict.admitted || !best || (!best->admitted && IsNearer(verdict, *best))) best = std::move(verdict);
    if (best->admitted) break;
  }
  best->node_shorts = FindNodeShorts(view, request);
  if (!best->node_shorts.empty()) best->admitted = best->reducible = false;
  return std::move(*best);
}

Result<BindingView> Reserve(BindingView view, const Request& request, const std::string& pool) {
  RETURN_IF_ERROR(AddTo(view.used, request.usage));
  for (PoolView& each : view.pools) {
    if (each.name == pool) RETURN_IF_ERROR(AddTo(each.used, request.usage));
  }
  return view;
}

Result<BindingView> Release(BindingView view, const ResourceList& usage, const std::string& pool) {
  auto take = [&usage](ResourceList& used) -> Result<void> {
    for (const auto& [key, amount] : usage) {
      ASSIGN_OR_RETURN(const Quantity left, Quantity::Difference(used[key], amount));
      if (left.IsNegative()) {
        return Fail(Code::kInternal,
                    "releasing " + key + " " + amount.ToString() + " of " + used[key].ToString());
      }
      used[key] = left;
    }
    return {};
  };
  RETURN_IF_ERROR(take(view.used));
  for (PoolView& each : view.pools) {
    if (each.name == pool) RETURN_IF_ERROR(take(each.used));
  }
  return view;
}

std::vector<Reason> ReasonsOf(const BindingView& view, const Verdict& verdict) {
  std::vector<Reason> reasons;
  if (!verdict.unknown_pool.empty()) {
    std::string known;
    for (const PoolView& pool : view.pools) known += (known.empty() ? "" : ", ") + pool.name;
    reasons.push_back({"pool_unknown",
                       {{"pool", verdict.unknown_pool},
                        {"project", view.project},
                        {"cluster", view.cluster},
                        {"known", known.empty() ? "—" : known}}});
  }
  for (const NodeShort& line : verdict.node_shorts) {
    reasons.push_back({"never_fits_node",
                       {{"resource", line.resource},
                        {"requested", line.requested.ToString()},
                        {"largest", line.largest.ToString()},
                        {"cluster", view.cluster}}});
  }
  for (const Short& line : verdict.shorts) reasons.push_back(ShortReason(view, line));
  return reasons;
}

Error RefusalOf(const BindingView& view, const Verdict& verdict) {
  const std::optional<ResourceList> fits = WhatFits(verdict);
  if (verdict.shorts.empty() || (!verdict.node_shorts.empty() && !fits)) {
    // Not a matter of quota alone: the first rule's own sentence.
    const std::vector<Reason> reasons = ReasonsOf(view, verdict);
    const Reason first = reasons.empty() ? Reason{"internal_error", {}} : reasons.front();
    return Error(Code::kQuotaExceeded, first.code, first.params,
                 model::Render(first.code, first.params, model::Language::kEn));
  }
  ResourceList requested, used, limited;
  for (const Short& line : verdict.shorts) {
    if (!line.pool.empty() && requested.contains(line.resource)) continue;
    requested[line.resource] = line.requested;
    used[line.resource] = line.used;
    limited[line.resource] = line.limited;
  }
  const bool only_pool = std::all_of(verdict.shorts.begin(), verdict.shorts.end(),
                                     [](const Short& s) { return !s.pool.empty(); });
  const std::string name = only_pool ? "pool " + verdict.pool + " of " + view.quota_name : view.quota_name;
  Params params = {{"quota", name},
                   {"requested", ListText(requested)},
                   {"used", ListText(used)},
                   {"limited", ListText(limited)}};
  std::string code = "quota_exceeded";
  if (!fits) code += "_full";
  if (fits) params.emplace_back("fits", ListText(*fits));
  if (!verdict.node_shorts.empty()) {
    // More quota alone would not let it in.
    code += "_node";
    params.emplace_back("cluster", view.cluster);
  } else {
    params.emplace_back("raise", RaisedLimits(verdict));
  }
  std::string message = model::Render(code, params, model::Language::kEn) + ". " +
                        model::RenderNext(code, params, model::Language::kEn);
  return Error(Code::kQuotaExceeded, std::move(code), std::move(params), std::move(message));
}

}  // namespace cubeplane::scheduler
