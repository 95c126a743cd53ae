// Why a workload waits, was refused or failed, in sentences, and who is ahead of it.
#include "apiserver/errors.h"
#include "apiserver/handlers.h"
#include "model/codec.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kMaxAhead = 50;

// Those that wait in the same project with a smaller place. Of the same project only: others' names are not
// theirs.
json::Array Ahead(const Context& context, const model::Workload& workload) {
  json::Array ahead;
  if (workload.status.phase != model::Phase::kWaiting) return ahead;
  for (const state::WorkloadPtr& other : context.parts.ledger.Workloads(workload.metadata.project)) {
    const bool before = other->status.phase == model::Phase::kWaiting && other->status.place > 0 &&
                        other->status.place < workload.status.place;
    if (!before || ahead.size() >= kMaxAhead) continue;
    ahead.push_back(json::Object{{"kind", model::KindName(other->kind)},
                                 {"name", other->metadata.name},
                                 {"resources", model::ToJson(*other)["spec"]["resources"]}});
  }
  return ahead;
}

}  // namespace

async::Task<Answer> Explain(Context& context) {
  const model::WorkloadKind kind = *context.route->kind;
  const std::string project = context.Param("project"), name = context.Param("name");
  const state::WorkloadPtr workload = context.parts.ledger.Find({kind, project, name});
  if (!workload) co_return Fail(WorkloadNotFound(kind, project, name));
  const model::WorkloadStatus& status = workload->status;
  json::Object answer{{"phase", model::PhaseName(status.phase)}};
  if (status.place > 0) answer.Set("place", status.place);
  if (status.waiting_since) {
    answer.Set("since", FormatTime(*status.waiting_since));
    answer.Set("long", context.now() - *status.waiting_since >= context.parts.ledger.settings().long_wait);
  }
  json::Array reasons;
  if (!status.reason.code.empty()) {
    json::Value main = ReasonObject(status.reason, context.language);
    answer.Set("message", main["message"]);
    answer.Set("next", main["next"]);
    reasons.push_back(std::move(main));
  }
  for (const model::Reason& reason : status.details)
    reasons.push_back(ReasonObject(reason, context.language));
  answer.Set("reasons", std::move(reasons));
  answer.Set("ahead", Ahead(context, *workload));
  co_return JsonResponse(200, std::move(answer));
}

}  // namespace cubeplane::apiserver
