// The summary behind `cubeplane status`: of what the caller may see.
#include <algorithm>
#include <map>
#include <set>

#include "apiserver/errors.h"
#include "apiserver/handlers.h"
#include "apiserver/listing.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kMaxNeeds = 20;

struct Sum {
  Quantity used, limit;
  bool limited = false;
};

// A sum that cannot be held stays what it was: the figure is for people, nothing is decided by it.
void Add(Quantity& total, const Quantity& more) {
  if (const Result<Quantity> sum = Quantity::Sum(total, more)) total = *sum;
}

std::map<std::string, Sum> SumBindings(const Context& context) {
  std::map<std::string, Sum> sums;
  for (const state::BindingUse& use : context.parts.ledger.Bindings()) {
    if (!MaySee(context, "Project", "", use.project)) continue;
    for (const auto& [resource, amount] : use.used) Add(sums[resource].used, amount);
    for (const auto& [resource, amount] : use.binding.quota) {
      Add(sums[resource].limit, amount);
      sums[resource].limited = true;
    }
  }
  return sums;
}

bool IsCard(std::string_view resource) {
  return resource.starts_with("requests.") && resource.find('/') != std::string_view::npos;
}

json::Value SumObject(const std::string& resource, const Sum& sum, const char* used_name) {
  json::Object object{{"resource", resource}, {used_name, sum.used.ToString()}};
  if (sum.limited) object.Set("limit", sum.limit.ToString());
  return object;
}

struct Work {
  size_t running = 0, waiting = 0;
  std::set<std::string> projects;
  state::WorkloadPtr longest;
  std::vector<state::WorkloadPtr> failed;
};

Time WaitingSince(const model::Workload& workload) {
  return workload.status.waiting_since.value_or(workload.status.accepted.value_or(Time()));
}

Work LookAtWork(const Context& context) {
  Work work;
  for (const state::WorkloadPtr& workload : context.parts.ledger.Workloads()) {
    const model::Metadata& metadata = workload->metadata;
    if (!MaySee(context, model::KindName(workload->kind), metadata.project, metadata.name)) continue;
    const model::Phase phase = workload->status.phase;
    if (phase == model::Phase::kWaiting) {
      ++work.waiting;
      if (!work.longest || WaitingSince(*workload) < WaitingSince(*work.longest)) work.longest = workload;
    } else if (phase == model::Phase::kFailed) {
      const bool recent =
          workload->status.ended && context.now() - *workload->status.ended < std::chrono::hours(24);
      if (recent && metadata.owner == context.user()) work.failed.push_back(workload);
    } else if (!model::IsTerminal(phase)) {
      ++work.running;
      work.projects.insert(metadata.project);
    }
  }
  return work;
}

json::Value WaitingObject(const Context& context, const Work& work) {
  json::Object waiting{{"workloads", static_cast<int64_t>(work.waiting)}};
  if (work.longest) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(context.now() - WaitingSince(*work.longest));
    waiting.Set("longest",
                json::Object{{"project", work.longest->metadata.project},
                             {"name", work.longest->metadata.name},
                             {"kind", model::KindName(work.longest->kind)},
                             {"seconds", static_cast<int64_t>(seconds.count())},
                             {"reason", ReasonObject(work.longest->status.reason, context.language)}});
  }
  return waiting;
}

// What a person must look at, most pressing first, and the command for the first of it.
json::Array NeedsYou(const Context& context, const Work& work, std::string& next) {
  std::vector<std::pair<model::Reason, std::string>> needs;
  if (const std::optional<Error> trouble = context.parts.store.Trouble()) {
    needs.push_back({{"store_unavailable", {{"message", trouble->message}}}, ""});
  }
  const json::Value gateway = context.parts.entry.Health();
  if (!gateway["healthy"].AsBool())
    needs.push_back({{"gateway_down", {{"message", gateway["reason"].AsString()}}}, ""});
  for (const state::WorkloadPtr& failed : work.failed) {
    const std::string name = failed->metadata.name, project = failed->metadata.project;
    needs.push_back({{"workload_failed", {{"project", project}, {"name", name}}},
                     "cubeplane describe -p " + project + " " + name});
  }
  json::Array list;
  for (const auto& [reason, command] : needs) {
    if (list.size() >= kMaxNeeds) break;
    if (next.empty()) next = command;
    list.push_back(ReasonObject(reason, context.language));
  }
  return list;
}

}  // namespace

async::Task<Answer> GetStatus(Context& context) {
  json::Array cards, reserved;
  for (const auto& [resource, sum] : SumBindings(context)) {
    if (IsCard(resource)) cards.push_back(SumObject(resource, sum, "reserved"));
    if (!IsCard(resource)) reserved.push_back(SumObject(resource, sum, "used"));
  }
  const Work work = LookAtWork(context);
  const std::optional<Error> trouble = context.parts.store.Trouble();
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(context.parts.clock.MonoNow() - context.started);
  std::string next;
  json::Array needs = NeedsYou(context, work, next);
  co_return JsonResponse(
      200, json::Object{{"time", FormatTime(context.now())},
                        {"host", context.settings.hostname},
                        {"control", json::Object{{"uptimeSeconds", static_cast<int64_t>(uptime.count())},
                                                 {"store", trouble ? trouble->message : std::string("ok")},
                                                 {"gateway", context.parts.entry.Health()}}},
                        {"cards", std::move(cards)},
                        {"reserved", std::move(reserved)},
                        {"running", json::Object{{"workloads", static_cast<int64_t>(work.running)},
                                                 {"projects", static_cast<int64_t>(work.projects.size())}}},
                        {"waiting", WaitingObject(context, work)},
                        {"needsYou", std::move(needs)},
                        {"next", next}});
}

}  // namespace cubeplane::apiserver
