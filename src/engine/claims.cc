#include "engine/claims.h"

#include <utility>

namespace cubeplane::engine {

void Claims::Observe(const Change& change) {
  if (change.key.resource == "persistentvolumeclaims" && change.type != Change::Type::kDeleted)
    marked_.insert(change.key);
}

void Claims::Reconcile() {
  for (const ObjectKey& key : std::exchange(marked_, {})) {
    const ObjectPtr claim = cluster_.store.Get(key);
    if (!claim || PhaseOf(*claim) == "Bound") continue;
    (void)cluster_.Modify(key, [&](json::Value& object) {
      Sub(object, "spec").Set("volumeName", "data-" + key.namespace_name);
      const json::Value capacity = object["spec"]["resources"]["requests"];
      const json::Value modes = object["spec"]["accessModes"];
      object.Set("status", json::Object{{"phase", "Bound"}, {"accessModes", modes}, {"capacity", capacity}});
    });
  }
}

}  // namespace cubeplane::engine
