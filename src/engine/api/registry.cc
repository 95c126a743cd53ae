#include "engine/api/registry.h"

#include "engine/api/defaults.h"
#include "engine/api/validation.h"
#include "engine/patch.h"
#include "engine/pod_run.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr int kNameAttempts = 8;
// Set by the server alone; what a client sends there is put back.
constexpr const char* kSystemFields[] = {
    "uid",  "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "name", "namespace",         "generateName",      "selfLink"};

// Written by the engine's own loops alone.
constexpr const char* kEngineAnnotations[] = {kDoor, kDevices, kDataFolder, kTenantUid};

void Restore(json::Value& object, const json::Value& from, const char* field) {
  if (from.Contains(field)) {
    object.Set(field, from[field]);
  } else {
    object.Erase(field);
  }
}

// `before` is null for a new object, which has none of them yet.
void KeepEngineAnnotations(json::Value& object, const json::Value* before) {
  for (const char* key : kEngineAnnotations) {
    if (before != nullptr && !AnnotationOf(*before, key).empty()) {
      SetAnnotation(object, key, AnnotationOf(*before, key));
    } else if (!AnnotationOf(object, key).empty()) {
      Sub(Meta(object), "annotations").Erase(key);
    }
  }
}

ApiError StoreError(const Kind& kind, const std::string& name, const Error& error) {
  if (error.code == Code::kAlreadyExists) return AlreadyExistsError(kind, name);
  if (error.code == Code::kNotFound) return NotFoundError(kind, name);
  return error;
}

}  // namespace

json::Value ScaleOf(const json::Value& set) {
  json::Object metadata;
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    metadata.Set(field, set["metadata"][field]);
  }
  std::string selector;
  for (const auto& [key, value] : set["spec"]["selector"]["matchLabels"].AsObject()) {
    selector += (selector.empty() ? "" : ",") + key + "=" + value.AsString();
  }
  return json::Object{
      {"kind", "Scale"},
      {"apiVersion", "autoscaling/v1"},
      {"metadata", std::move(metadata)},
      {"spec", json::Object{{"replicas", set["spec"]["replicas"]}}},
      {"status", json::Object{{"replicas", set["status"]["replicas"].AsInt()}, {"selector", selector}}}};
}

Answer<ObjectPtr> Registry::Get(const Kind& kind, const std::string& namespace_name,
                                const std::string& name) const {
  ObjectPtr object = cluster_.store.Get(kind.Key(namespace_name, name));
  if (!object) return Refuse(NotFoundError(kind, name));
  return object;
}

Answer<void> Registry::CheckIdentity(const Kind& kind, json::Value& object, const std::string& namespace_name,
                                     const std::string& name) const {
  if (!object.IsObject())
    return Refuse(BadRequest("the body must be an object; found " + std::string(object.TypeName())));
  const std::string& version = object["apiVersion"].AsString();
  const std::string& word = object["kind"].AsString();
  if ((!version.empty() && version != kind.ApiVersion()) || (!word.empty() && word != kind.kind)) {
    return Refuse(BadRequest("the object provided is unrecognized (must be of type " + kind.kind +
                             "): found apiVersion \"" + version + "\", kind \"" + word + "\""));
  }
  json::Value& metadata = Meta(object);
  if (!metadata.IsNull() && !metadata.IsObject())
    return Refuse(BadRequest("metadata must be an object; found " + std::string(metadata.TypeName())));
  if (kind.namespaced) {
    const std::string found = metadata["namespace"].AsString();
    if (!found.empty() && found != namespace_name) {
      return Refuse(BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request"));
    }
    metadata.Set("namespace", namespace_name);
  } else {
    metadata.Erase("namespace");
  }
  const std::string found = metadata["name"].AsString();
  if (!name.empty() && found != name) {
    return Refuse(BadRequest("the name of the object (" + (found.empty() ? "empty" : found) +
                             ") does not match the name on the URL (" + name + ")"));
  }
  json::Object ordered{{"apiVersion", kind.ApiVersion()}, {"kind", kind.kind}};
  for (auto& [key, value] : object.MakeObject()) {
    if (key != "apiVersion" && key != "kind") ordered.Append(key, std::move(value));
  }
  object = std::move(ordered);
  return {};
}

Answer<void> Registry::CheckNamespace(const Kind& kind, const json::Value& object) const {
  if (!kind.namespaced) return {};
  const Kind& namespaces = *FindKindByResource("namespaces");
  const std::string& name = NamespaceOf(object);
  const ObjectPtr space = cluster_.store.Get(namespaces.Key("", name));
  if (!space) return Refuse(NotFoundError(namespaces, name));
  if (IsDeleting(*space)) {
    return Refuse(ForbiddenError(
        kind, NameOf(object),
        "unable to create new content in namespace " + name + " because it is being terminated"));
  }
  return {};
}

Answer<ObjectPtr> Registry::Create(const Kind& kind, const std::string& namespace_name, json::Value object,
                                   const WriteOptions& options) {
  RETURN_IF_ERROR(CheckIdentity(kind, object, namespace_name, ""));
  json::Value& metadata = Meta(object);
  for (const char* field :
       {"uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"})
    metadata.Erase(field);
  if (!metadata["resourceVersion"].AsString().empty()) {
    return Refuse({500, "InternalError", "resourceVersion should not be set on objects to be created"});
  }
  KeepEngineAnnotations(object, nullptr);
  const std::string stem = metadata["generateName"].AsString();
  const bool generated = metadata["name"].AsString().empty() && !stem.empty();
  RETURN_IF_ERROR(CheckNamespace(kind, object));
  metadata.Set("uid", cluster_.NewUid());
  metadata.Set("creationTimestamp", cluster_.Now());
  if (kind.has_generation) metadata.Set("generation", 1);
  if (generated) metadata.Set("name", stem + cluster_.NameSuffix());
  RETURN_IF_ERROR(ApplyDefaults(kind, object));
  for (int attempt = 1; generated && cluster_.store.Get(KeyOf(kind, object)) && attempt < kNameAttempts;
       ++attempt) {
    Meta(object).Set("name", stem + cluster_.NameSuffix());
  }
  const std::string name = NameOf(object);
  if (!name.empty() && cluster_.store.Get(KeyOf(kind, object))) return Refuse(AlreadyExistsError(kind, name));
  // Before admission, which reads what it judges, and after it, because it fills in.
  if (const FieldErrors errors = Validate(kind, object); !errors.empty())
    return Refuse(InvalidError(kind, name, errors));
  if (admit_) RETURN_IF_ERROR(admit_(kind, object, nullptr));
  SetInitialStatus(kind, object);
  if (const FieldErrors errors = Validate(kind, object); !errors.empty())
    return Refuse(InvalidError(kind, name, errors));
  if (options.dry_run) return std::make_shared<const json::Value>(std::move(object));
  const ObjectKey key = KeyOf(kind, object);
  auto stored = cluster_.store.Create(key, std::move(object));
  if (!stored) return Refuse(StoreError(kind, name, stored.error()));
  return std::move(*stored);
}

// What is written: the client's object with the server's fields, and only the part that the subresource may
// change.
Answer<json::Value> Registry::MergeForUpdate(const Kind& kind, const json::Value& present,
                                             const std::string& subresource, json::Value object) const {
  const std::string name = NameOf(present);
  const std::string& version = object["metadata"]["resourceVersion"].AsString();
  if (!version.empty() && version != "0" && version != present["metadata"]["resourceVersion"].AsString()) {
    return Refuse(ConflictError(
        kind, name,
        "the object has been modified; please apply your changes to the latest version and try again"));
  }
  const std::string& uid = object["metadata"]["uid"].AsString();
  if (!uid.empty() && uid != UidOf(present)) {
    return Refuse(ConflictError(
        kind, name,
        "Precondition failed: UID in precondition: " + uid + ", UID in object meta: " + UidOf(present)));
  }
  json::Value& metadata = Meta(object);
  for (const char* field : kSystemFields) Restore(metadata, present["metadata"], field);
  metadata.Erase("managedFields");
  KeepEngineAnnotations(object, &present);
  Restore(metadata, present["metadata"], "generation");
  metadata.Set("resourceVersion", present["metadata"]["resourceVersion"]);
  if (subresource == "status") {
    json::Value merged = present;
    merged.Set("metadata", std::move(metadata));
    Restore(merged, object, "status");
    return merged;
  }
  if (kind.has_status) Restore(object, present, "status");
  RETURN_IF_ERROR(ApplyDefaults(kind, object));
  if (kind.has_generation && object["spec"] != present["spec"]) {
    Meta(object).Set("generation", present["metadata"]["generation"].AsInt() + 1);
  }
  return object;
}

Answer<ObjectPtr> Registry::StoreUpdate(const Kind& kind, const ObjectPtr& present, json::Value merged,
                                        const WriteOptions& options) {
  const std::string name = NameOf(*present);
  FieldErrors errors = Validate(kind, merged);
  if (errors.empty()) errors = ValidateUpdate(kind, merged, *present);
  if (!errors.empty()) return Refuse(InvalidError(kind, name, errors));
  if (admit_) RETURN_IF_ERROR(admit_(kind, merged, present.get()));
  if (options.dry_run) return std::make_shared<const json::Value>(std::move(merged));
  const ObjectKey key = KeyOf(kind, merged);
  // The last finalizer of an object that is to go has been taken off. Pods and namespaces go by their own
  // loops.
  const bool looped = kind.kind == "Pod" || kind.kind == "Namespace";
  if (IsDeleting(merged) && !looped && merged["metadata"]["finalizers"].AsArray().empty()) {
    auto gone = cluster_.store.Delete(key);
    if (!gone) return Refuse(StoreError(kind, name, gone.error()));
    return std::move(*gone);
  }
  auto stored = cluster_.store.Update(key, std::move(merged));
  if (!stored) return Refuse(StoreError(kind, name, stored.error()));
  return std::move(*stored);
}

Answer<ObjectPtr> Registry::Update(const Kind& kind, const std::string& namespace_name,
                                   const std::string& name, const std::string& subresource,
                                   json::Value object, const WriteOptions& options) {
  ASSIGN_OR_RETURN(const ObjectPtr present, Get(kind, namespace_name, name));
  if (subresource == "scale") return UpdateScale(kind, present, object, options);
  RETURN_IF_ERROR(CheckIdentity(kind, object, namespace_name, name));
  ASSIGN_OR_RETURN(json::Value merged, MergeForUpdate(kind, *present, subresource, std::move(object)));
  return StoreUpdate(kind, present, std::move(merged), options);
}

Answer<ObjectPtr> Registry::UpdateScale(const Kind& kind, const ObjectPtr& present, const json::Value& scale,
                                        const WriteOptions& options) {
  const json::Value& replicas = scale["spec"]["replicas"];
  const std::string& version = scale["metadata"]["resourceVersion"].AsString();
  if (!version.empty() && version != (*present)["metadata"]["resourceVersion"].AsString()) {
    return Refuse(ConflictError(
        kind, NameOf(*present),
        "the object has been modified; please apply your changes to the latest version and try again"));
  }
  json::Value object = *present;
  Sub(object, "spec").Set("replicas", replicas.IsNull() ? json::Value(0) : replicas);
  ASSIGN_OR_RETURN(json::Value merged, MergeForUpdate(kind, *present, "", std::move(object)));
  ASSIGN_OR_RETURN(const ObjectPtr stored, StoreUpdate(kind, present, std::move(merged), options));
  return std::make_shared<const json::Value>(ScaleOf(*stored));
}

Answer<ObjectPtr> Registry::Patch(const Kind& kind, const std::string& namespace_name,
                                  const std::string& name, const std::string& subresource,
                                  const std::string& type, const json::Value& patch,
                                  const WriteOptions& options, bool& created) {
  created = false;
  const bool apply = type == "application/apply-patch+yaml";
  const ObjectPtr present = cluster_.store.Get(kind.Key(namespace_name, name));
  if (!present && apply && subresource.empty()) {
    json::Value object = patch;
    Sub(Meta(object), "name") = name;
    created = true;
    return Create(kind, namespace_name, std::move(object), options);
  }
  if (!present) return Refuse(NotFoundError(kind, name));
  const json::Value base = subresource == "scale" ? ScaleOf(*present) : *present;
  json::Value object;
  if (type == "application/json-patch+json") {
    ASSIGN_OR_RETURN(object, JsonPatch(base, patch));
  } else if (type == "application/merge-patch+json") {
    object = MergePatch(base, patch);
  } else if (apply || type == "application/strategic-merge-patch+json") {
    ASSIGN_OR_RETURN(object, StrategicMergePatch(base, patch));
  } else {
    return Refuse({415, "UnsupportedMediaType",
                   "the body of the request was in an unknown format - accepted media types include: "
                   "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, "
                   "application/strategic-merge-patch+json"});
  }
  return Update(kind, namespace_name, name, subresource, std::move(object), options);
}

}  // namespace cubeplane::engine
