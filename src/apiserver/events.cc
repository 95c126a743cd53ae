// What the cluster says about a workload.
#include "apiserver/handlers.h"

namespace cubeplane::apiserver {

async::Task<Answer> ListEvents(Context& context) {
  const model::WorkloadKind kind = *context.route->kind;
  const std::string project = context.Param("project"), name = context.Param("name");
  const state::WorkloadPtr workload = context.parts.ledger.Find({kind, project, name});
  if (!workload) co_return Fail(WorkloadNotFound(kind, project, name));
  Result<std::vector<ClusterEvent>> events = co_await context.parts.events.List(workload, kMaxEvents);
  CO_RETURN_IF_ERROR(events);
  json::Array items;
  for (const ClusterEvent& event : *events) {
    json::Object item{{"type", event.type},
                      {"reason", event.reason},
                      {"message", event.message},
                      {"object", event.object},
                      {"count", event.count}};
    if (event.first_seen) item.Set("firstSeen", FormatTime(*event.first_seen));
    if (event.last_seen) item.Set("lastSeen", FormatTime(*event.last_seen));
    items.push_back(std::move(item));
  }
  co_return JsonResponse(200, json::Object{{"items", std::move(items)}});
}

}  // namespace cubeplane::apiserver
