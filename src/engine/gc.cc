#include "engine/gc.h"

#include <algorithm>
#include <utility>

namespace cubeplane::engine {

void GarbageCollector::Observe(const Change& change) {
  if (change.type == Change::Type::kDeleted) gone_.insert(UidOf(*change.object));
  for (const json::Value& owner : (*change.object)["metadata"]["ownerReferences"].AsArray()) {
    const std::string& uid = owner["uid"].AsString();
    const auto key = cluster_.store.KeyOfUid(uid);
    if (!key) {
      gone_.insert(uid);
    } else if (change.type == Change::Type::kDeleted) {
      finalizing_.insert(*key);  // it may have waited for this one
    }
  }
  if (change.type != Change::Type::kDeleted && IsDeleting(*change.object)) finalizing_.insert(change.key);
}

void GarbageCollector::Reconcile() {
  for (const std::string& uid : std::exchange(gone_, {})) DeleteOwned(uid, false);
  for (const ObjectKey& key : std::exchange(finalizing_, {})) {
    const ObjectPtr owner = cluster_.store.Get(key);
    if (!owner || !IsDeleting(*owner)) continue;
    if (HasFinalizer(*owner, "orphan")) Orphan(key);
    if (HasFinalizer(*owner, "foregroundDeletion")) Foreground(key);
  }
}

// A dependent goes when none of its owners is left.
void GarbageCollector::DeleteOwned(const std::string& owner_uid, bool blocking_only) {
  for (const ObjectKey& key : cluster_.store.Dependents(owner_uid)) {
    const ObjectPtr dependent = cluster_.store.Get(key);
    if (!dependent || IsDeleting(*dependent)) continue;
    const auto& owners = (*dependent)["metadata"]["ownerReferences"].AsArray();
    const bool held = std::ranges::any_of(owners, [&](const json::Value& owner) {
      const std::string& uid = owner["uid"].AsString();
      return uid != owner_uid && cluster_.store.KeyOfUid(uid).has_value();
    });
    if (held) continue;
    DeleteOptions options;
    if (blocking_only) options.propagation = "Foreground";
    (void)registry_.Delete(*FindKindByResource(key.resource), key.namespace_name, key.name, options);
  }
}

void GarbageCollector::Orphan(const ObjectKey& key) {
  const std::string uid = UidOf(*cluster_.store.Get(key));
  for (const ObjectKey& dependent : cluster_.store.Dependents(uid)) {
    (void)cluster_.Modify(dependent, [&](json::Value& object) {
      auto& owners = Sub(Meta(object), "ownerReferences").MakeArray();
      std::erase_if(owners, [&](const json::Value& owner) { return owner["uid"].AsString() == uid; });
      if (owners.empty()) Meta(object).Erase("ownerReferences");
    });
  }
  if (cluster_.store.Dependents(uid).empty()) DropFinalizer(key, "orphan");
}

void GarbageCollector::Foreground(const ObjectKey& key) {
  const std::string uid = UidOf(*cluster_.store.Get(key));
  DeleteOwned(uid, true);
  for (const ObjectKey& dependent : cluster_.store.Dependents(uid)) {
    for (const json::Value& owner :
         (*cluster_.store.Get(dependent))["metadata"]["ownerReferences"].AsArray()) {
      if (owner["uid"].AsString() == uid && owner["blockOwnerDeletion"].AsBool()) return;
    }
  }
  DropFinalizer(key, "foregroundDeletion");
}

void GarbageCollector::DropFinalizer(const ObjectKey& key, const std::string& finalizer) {
  auto left = cluster_.Modify(key, [&](json::Value& object) { RemoveFinalizer(object, finalizer); });
  const bool looped = key.resource == "pods" || key.resource == "namespaces";
  if (left && !looped && (**left)["metadata"]["finalizers"].AsArray().empty()) (void)cluster_.Erase(key);
}

}  // namespace cubeplane::engine
