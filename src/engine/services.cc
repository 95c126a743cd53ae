#include "engine/services.h"

#include <utility>

#include "engine/selectors.h"

namespace cubeplane::engine {

void Services::Observe(const Change& change) {
  const std::string& resource = change.key.resource;
  if (resource == "services" || resource == "pods" || resource == "endpoints")
    marked_.insert(change.key.namespace_name);
}

void Services::Reconcile() {
  for (const std::string& space : std::exchange(marked_, {})) {
    for (const ObjectPtr& service : cluster_.store.List("services", space))
      Sync({"services", space, NameOf(*service)});
  }
}

// A pod has no address of its own (it is reached by its door), so an address names the pod and no IP.
json::Value Services::Subsets(const json::Value& service) const {
  const LabelSelector selector = LabelSelector::FromMap(service["spec"]["selector"]);
  json::Array ready, waiting;
  for (const ObjectPtr& pod : cluster_.store.List("pods", NamespaceOf(service))) {
    if (!selector.Matches(*pod) || IsTerminalPhase(PhaseOf(*pod)) || IsDeleting(*pod)) continue;
    if ((*pod)["spec"]["nodeName"].AsString().empty()) continue;
    json::Object target{
        {"kind", "Pod"}, {"namespace", NamespaceOf(*pod)}, {"name", NameOf(*pod)}, {"uid", UidOf(*pod)}};
    json::Object address{{"nodeName", (*pod)["spec"]["nodeName"]}, {"targetRef", std::move(target)}};
    (IsPodReady(*pod) ? ready : waiting).emplace_back(std::move(address));
  }
  if (ready.empty() && waiting.empty()) return json::Array{};
  json::Array ports;
  for (const json::Value& port : service["spec"]["ports"].AsArray()) {
    json::Object entry{{"port", port["targetPort"].IsInt() ? port["targetPort"] : port["port"]},
                       {"protocol", port["protocol"]}};
    if (port.Contains("name")) entry.Set("name", port["name"]);
    ports.emplace_back(std::move(entry));
  }
  json::Object subset;
  if (!ready.empty()) subset.Set("addresses", std::move(ready));
  if (!waiting.empty()) subset.Set("notReadyAddresses", std::move(waiting));
  if (!ports.empty()) subset.Set("ports", std::move(ports));
  return json::Array{json::Value(std::move(subset))};
}

void Services::Sync(const ObjectKey& key) {
  const ObjectPtr service = cluster_.store.Get(key);
  if (!service || !(*service)["spec"]["selector"].IsObject() || IsDeleting(*service)) return;
  const Kind& kind = *FindKindByResource("endpoints");
  const ObjectKey place = kind.Key(key.namespace_name, key.name);
  json::Value subsets = Subsets(*service);
  if (!cluster_.store.Get(place)) {
    json::Object metadata{
        {"name", key.name},
        {"ownerReferences", json::Array{OwnerReference(*FindKindByResource("services"), *service)}}};
    (void)registry_.Create(kind, key.namespace_name,
                           json::Object{{"metadata", std::move(metadata)}, {"subsets", std::move(subsets)}},
                           {});
    return;
  }
  (void)cluster_.Modify(place, [&](json::Value& object) { object.Set("subsets", std::move(subsets)); });
}

}  // namespace cubeplane::engine
