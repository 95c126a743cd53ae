#include "engine/namespaces.h"

#include <utility>

namespace cubeplane::engine {

void Namespaces::Observe(const Change& change) {
  if (change.key.resource == "namespaces") marked_.insert(change.key.name);
  const bool account = change.key.resource == "serviceaccounts" && change.key.name == "default";
  if (change.type == Change::Type::kDeleted && !change.key.namespace_name.empty()) {
    const ObjectPtr space = cluster_.store.Get({"namespaces", "", change.key.namespace_name});
    if (space && (account || IsDeleting(*space))) marked_.insert(change.key.namespace_name);
  }
}

void Namespaces::Reconcile() {
  for (const std::string& name : std::exchange(marked_, {})) {
    const ObjectPtr space = cluster_.store.Get({"namespaces", "", name});
    if (!space) continue;
    if (IsDeleting(*space)) {
      Empty(name);
    } else {
      EnsureAccount(name);
    }
  }
}

void Namespaces::Empty(const std::string& name) {
  bool empty = true;
  for (const Kind& kind : Kinds()) {
    if (!kind.namespaced) continue;
    for (const ObjectPtr& object : cluster_.store.List(kind.Qualified(), name)) {
      if (IsDeleting(*object)) {
        empty = false;
        continue;
      }
      const auto deleted = registry_.Delete(kind, name, NameOf(*object), {});
      empty = empty && deleted && deleted->gone;
    }
  }
  if (empty) (void)cluster_.Erase({"namespaces", "", name});
}

void Namespaces::EnsureAccount(const std::string& name) {
  if (cluster_.store.Get({"serviceaccounts", name, "default"})) return;
  const Kind& kind = *FindKindByResource("serviceaccounts");
  json::Object account{{"metadata", json::Object{{"name", "default"}}}};
  (void)registry_.Create(kind, name, std::move(account), {});
}

}  // namespace cubeplane::engine
