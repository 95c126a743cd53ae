#include "engine/events.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cubeplane::engine {
namespace {

constexpr size_t kPruneEvery = 200;

const std::string& LastSeen(const json::Value& event) { return event["lastTimestamp"].AsString(); }

}  // namespace

void Recorder::Record(const Kind& kind, const json::Value& about, std::string_view type,
                      std::string_view reason, const std::string& message, std::string_view component) {
  const Kind& events = *FindKindByResource("events");
  const std::string space = kind.namespaced ? NamespaceOf(about) : "default";
  const std::string now = cluster_.Now();
  for (const ObjectPtr& event : cluster_.store.List("events", space)) {
    if ((*event)["involvedObject"]["uid"] != about["metadata"]["uid"] ||
        (*event)["reason"].AsString() != reason || (*event)["message"].AsString() != message) {
      continue;
    }
    (void)cluster_.Modify(KeyOf(events, *event), [&](json::Value& object) {
      object.Set("count", object["count"].AsInt(1) + 1);
      object.Set("lastTimestamp", now);
    });
    return;
  }
  json::Object involved{{"kind", kind.kind},
                        {"namespace", NamespaceOf(about)},
                        {"name", NameOf(about)},
                        {"uid", UidOf(about)},
                        {"apiVersion", kind.ApiVersion()},
                        {"resourceVersion", about["metadata"]["resourceVersion"]}};
  json::Object source{{"component", component}};
  if (component == "kubelet") source.Set("host", cluster_.node_name);
  json::Object event{{"metadata", json::Object{{"name", NameOf(about) + "." + cluster_.random.Hex(8)}}},
                     {"involvedObject", std::move(involved)},
                     {"reason", reason},
                     {"message", message},
                     {"source", std::move(source)},
                     {"firstTimestamp", now},
                     {"lastTimestamp", now},
                     {"count", 1},
                     {"type", type},
                     {"eventTime", nullptr},
                     {"reportingComponent", component},
                     {"reportingInstance", ""}};
  (void)registry_.Create(events, space, std::move(event), {});
  if (++since_prune_ >= kPruneEvery) Prune();
}

void Recorder::Prune() {
  since_prune_ = 0;
  const Kind& kind = *FindKindByResource("events");
  auto events = cluster_.store.List("events");
  std::ranges::sort(events, [](const auto& a, const auto& b) {
    return std::pair(LastSeen(*a), NameOf(*a)) < std::pair(LastSeen(*b), NameOf(*b));
  });
  const std::string oldest = FormatTimeSeconds(cluster_.clock.Now() - kEventAge);
  const size_t over = events.size() > kMaxEvents ? events.size() - kMaxEvents : 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i >= over && LastSeen(*events[i]) >= oldest) break;
    (void)cluster_.Erase(KeyOf(kind, *events[i]));
  }
}

}  // namespace cubeplane::engine
