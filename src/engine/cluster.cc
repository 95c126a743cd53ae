#include "engine/cluster.h"

#include <algorithm>

#include "log/log.h"

namespace cubeplane::engine {
namespace {

void Warn(std::string_view doing, const ObjectKey& key, const Error& error) {
  log::Warn("engine: " + std::string(doing) + " " + key.resource,
            {{"namespace", key.namespace_name}, {"name", key.name}, {"error", error.message}});
}

}  // namespace

std::string Cluster::NameSuffix() const {
  // Kubernetes' alphabet: no vowels and no characters that look alike.
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kAlphabet[random.Below(kAlphabet.size())];
  return suffix;
}

Result<ObjectPtr> Cluster::Modify(const ObjectKey& key,
                                  const std::function<void(json::Value&)>& change) const {
  const ObjectPtr present = store.Get(key);
  if (!present) return Fail(Code::kNotFound, key.resource + " \"" + key.name + "\" not found");
  json::Value object = *present;
  change(object);
  auto written = store.Update(key, std::move(object));
  if (!written) Warn("updating", key, written.error());
  return written;
}

Result<ObjectPtr> Cluster::ModifyIfUid(const ObjectKey& key, const std::string& uid,
                                       const std::function<void(json::Value&)>& change) const {
  const ObjectPtr present = store.Get(key);
  if (!present || UidOf(*present) != uid)
    return Fail(Code::kNotFound, key.resource + " \"" + key.name + "\" not found");
  return Modify(key, change);
}

Result<void> Cluster::Erase(const ObjectKey& key) const {
  auto erased = store.Delete(key);
  if (erased) return {};
  if (erased.error().code != Code::kNotFound) Warn("deleting", key, erased.error());
  return std::unexpected(erased.error());
}

void SetAnnotation(json::Value& object, std::string_view key, std::string value) {
  Sub(Meta(object), "annotations").Set(key, std::move(value));
}

bool HasFinalizer(const json::Value& object, std::string_view finalizer) {
  const auto& list = object["metadata"]["finalizers"].AsArray();
  return std::ranges::any_of(list, [&](const json::Value& entry) { return entry.AsString() == finalizer; });
}

void AddFinalizer(json::Value& object, std::string_view finalizer) {
  if (!HasFinalizer(object, finalizer)) Sub(Meta(object), "finalizers").MakeArray().emplace_back(finalizer);
}

void RemoveFinalizer(json::Value& object, std::string_view finalizer) {
  auto& list = Sub(Meta(object), "finalizers").MakeArray();
  std::erase_if(list, [&](const json::Value& entry) { return entry.AsString() == finalizer; });
  if (list.empty()) Meta(object).Erase("finalizers");
}

const json::Value& ControllerOf(const json::Value& object) {
  static const json::Value none;
  for (const json::Value& owner : object["metadata"]["ownerReferences"].AsArray()) {
    if (owner["controller"].AsBool()) return owner;
  }
  return none;
}

json::Value OwnerReference(const Kind& kind, const json::Value& owner) {
  return json::Object{{"apiVersion", kind.ApiVersion()},
                      {"kind", kind.kind},
                      {"name", NameOf(owner)},
                      {"uid", UidOf(owner)},
                      {"controller", true},
                      {"blockOwnerDeletion", true}};
}

ObjectKey KeyOf(const Kind& kind, const json::Value& object) {
  return kind.Key(NamespaceOf(object), NameOf(object));
}

void SetCondition(json::Value& status, std::string_view type, bool value, std::string_view reason,
                  std::string_view message, const std::string& now) {
  auto& conditions = Sub(status, "conditions").MakeArray();
  auto found =
      std::ranges::find_if(conditions, [&](const json::Value& c) { return c["type"].AsString() == type; });
  if (found == conditions.end()) found = conditions.insert(conditions.end(), json::Object{{"type", type}});
  const std::string_view text = value ? "True" : "False";
  if ((*found)["status"].AsString() != text) {
    found->Set("status", text);
    found->Set("lastTransitionTime", now);
  }
  for (const auto& [key, words] : {std::pair{"reason", reason}, std::pair{"message", message}}) {
    if (words.empty()) {
      found->Erase(key);
    } else {
      found->Set(key, words);
    }
  }
}

const json::Value& FindCondition(const json::Value& object, std::string_view type) {
  static const json::Value none;
  for (const json::Value& condition : object["status"]["conditions"].AsArray()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return none;
}

bool IsPodReady(const json::Value& pod) { return FindCondition(pod, "Ready")["status"].AsString() == "True"; }

}  // namespace cubeplane::engine
