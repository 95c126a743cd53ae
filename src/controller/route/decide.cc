#include "controller/route/decide.h"

#include "controller/names.h"

namespace cubeplane::controller::route {

std::vector<state::Route> Decide(const Input& input) {
  std::vector<state::Route> routes;
  for (const state::WorkloadPtr& workload : input.workloads) {
    if (workload->kind != model::WorkloadKind::kNotebook || workload->metadata.deleted) continue;
    const model::Phase phase = workload->status.phase;
    if (phase != model::Phase::kStarting && phase != model::Phase::kRunning) continue;
    const auto pod = input.pods.find(workload->metadata.uid);
    const auto secret = input.secrets.find(workload->metadata.uid);
    if (pod == input.pods.end() || secret == input.secrets.end()) continue;
    const json::Value& metadata = pod->second["metadata"];
    const std::string& door = metadata["annotations"][kDoor].AsString();
    if (door.empty() || metadata.Contains("deletionTimestamp")) continue;
    if (pod->second.At("status.phase").AsString() != "Running") continue;
    routes.push_back(
        {.host = state::HostOf(workload->metadata.name, workload->metadata.project, input.domain),
         .workload_uid = workload->metadata.uid,
         .upstream = "unix@" + door,
         .instance = metadata["uid"].AsString(),
         .secret = secret->second,
         .owner = workload->metadata.owner});
  }
  return routes;
}

}  // namespace cubeplane::controller::route
