// What every part of the engine works on: the objects, the time, chance, and small helpers on metadata.
//
// Threading: the control thread only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "engine/api/kinds.h"
#include "engine/store.h"

namespace cubeplane::engine {

struct Cluster {
  Store& store;
  const Clock& clock;
  Random& random;
  std::string node_name;

  // A UUID in the form of Kubernetes' UIDs.
  std::string NewUid() const { return NewUuid(clock, random); }
  std::string Now() const { return FormatTimeSeconds(clock.Now()); }
  // Five characters as generateName appends them.
  std::string NameSuffix() const;

  // Reads, changes and writes one object. A refusal by the disk is logged and returned; the loops come back
  // by themselves with the next change or tick. kNotFound when it is gone.
  Result<ObjectPtr> Modify(const ObjectKey& key, const std::function<void(json::Value&)>& change) const;
  // As Modify, but only when the object still has this UID.
  Result<ObjectPtr> ModifyIfUid(const ObjectKey& key, const std::string& uid,
                                const std::function<void(json::Value&)>& change) const;
  // Removes the object now, whatever it is; finalizers have been seen to.
  Result<void> Erase(const ObjectKey& key) const;
};

// ---- metadata

inline const std::string& NameOf(const json::Value& object) { return object["metadata"]["name"].AsString(); }
inline const std::string& NamespaceOf(const json::Value& object) {
  return object["metadata"]["namespace"].AsString();
}
inline const std::string& UidOf(const json::Value& object) { return object["metadata"]["uid"].AsString(); }
inline bool IsDeleting(const json::Value& object) { return object["metadata"].Contains("deletionTimestamp"); }
inline const std::string& PhaseOf(const json::Value& object) { return object["status"]["phase"].AsString(); }
inline const std::string& AnnotationOf(const json::Value& object, std::string_view key) {
  return object["metadata"]["annotations"][key].AsString();
}
// A member that is made when it is not there.
inline json::Value& Sub(json::Value& object, std::string_view key) { return object.MakeObject()[key]; }
inline json::Value& Meta(json::Value& object) { return Sub(object, "metadata"); }
inline json::Value& StatusOf(json::Value& object) { return Sub(object, "status"); }
void SetAnnotation(json::Value& object, std::string_view key, std::string value);
bool HasFinalizer(const json::Value& object, std::string_view finalizer);
void AddFinalizer(json::Value& object, std::string_view finalizer);
void RemoveFinalizer(json::Value& object, std::string_view finalizer);
// The ownerReference with controller: true; null when there is none.
const json::Value& ControllerOf(const json::Value& object);
json::Value OwnerReference(const Kind& kind, const json::Value& owner);
ObjectKey KeyOf(const Kind& kind, const json::Value& object);

// ---- status

// Sets one condition; lastTransitionTime moves only when the condition's status changes.
void SetCondition(json::Value& status, std::string_view type, bool value, std::string_view reason,
                  std::string_view message, const std::string& now);
const json::Value& FindCondition(const json::Value& object, std::string_view type);
inline bool IsTerminalPhase(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }
bool IsPodReady(const json::Value& pod);

}  // namespace cubeplane::engine
