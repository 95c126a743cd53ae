#include <chrono>

#include "engine/api/registry.h"

namespace cubeplane::engine {
namespace {

constexpr int64_t kDefaultGraceSeconds = 30;

ApiError Precondition(const Kind& kind, const std::string& name, const std::string& what,
                      const std::string& asked, const std::string& found) {
  return ConflictError(kind, name,
                       "Precondition failed: " + what + " in precondition: " + asked + ", " + what +
                           " in object meta: " + found);
}

}  // namespace

Answer<DeleteOptions> DeleteOptions::Read(const json::Value& body) {
  DeleteOptions options;
  if (body["gracePeriodSeconds"].IsInt()) {
    options.grace_seconds = body["gracePeriodSeconds"].AsInt();
    if (*options.grace_seconds < 0)
      return Refuse({422, "Invalid",
                     "DeleteOptions.meta.k8s.io \"\" is invalid: gracePeriodSeconds: Invalid value: must be "
                     "greater than or equal to 0"});
  }
  options.propagation = body["propagationPolicy"].AsString();
  if (body["orphanDependents"].IsBool())
    options.propagation = body["orphanDependents"].AsBool() ? "Orphan" : "Background";
  if (!options.propagation.empty() && options.propagation != "Background" &&
      options.propagation != "Foreground" && options.propagation != "Orphan") {
    return Refuse({422, "Invalid",
                   "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"" +
                       options.propagation +
                       "\": supported values: \"Background\", \"Foreground\", \"Orphan\""});
  }
  options.uid = body["preconditions"]["uid"].AsString();
  options.resource_version = body["preconditions"]["resourceVersion"].AsString();
  options.dry_run = !body["dryRun"].AsArray().empty();
  return options;
}

void Registry::MarkDeleting(const Kind& kind, json::Value& object, int64_t grace,
                            const std::string& finalizer) const {
  json::Value& metadata = Meta(object);
  const auto until = cluster_.clock.Now() + std::chrono::seconds(grace);
  metadata.Set("deletionTimestamp", FormatTimeSeconds(until));
  metadata.Set("deletionGracePeriodSeconds", grace);
  if (kind.has_generation) metadata.Set("generation", metadata["generation"].AsInt() + 1);
  if (kind.kind == "Namespace") StatusOf(object).Set("phase", "Terminating");
  if (!finalizer.empty()) AddFinalizer(object, finalizer);
}

Answer<Registry::Deleted> Registry::Delete(const Kind& kind, const std::string& namespace_name,
                                           const std::string& name, const DeleteOptions& options) {
  ASSIGN_OR_RETURN(const ObjectPtr present, Get(kind, namespace_name, name));
  const std::string& version = (*present)["metadata"]["resourceVersion"].AsString();
  if (!options.uid.empty() && options.uid != UidOf(*present)) {
    return Refuse(Precondition(kind, name, "UID", options.uid, UidOf(*present)));
  }
  if (!options.resource_version.empty() && options.resource_version != version) {
    return Refuse(Precondition(kind, name, "ResourceVersion", options.resource_version, version));
  }
  const bool bound_pod = kind.kind == "Pod" && !(*present)["spec"]["nodeName"].AsString().empty();
  int64_t grace = 0;
  if (bound_pod) {
    grace = options.grace_seconds.value_or(
        (*present)["spec"]["terminationGracePeriodSeconds"].AsInt(kDefaultGraceSeconds));
    if (IsTerminalPhase(PhaseOf(*present))) grace = 0;
  }
  std::string finalizer;
  if (options.propagation == "Foreground") finalizer = "foregroundDeletion";
  if (options.propagation == "Orphan") finalizer = "orphan";
  if (options.dry_run) return Deleted{present, false};
  const ObjectKey key = KeyOf(kind, *present);
  if (IsDeleting(*present)) {
    // A second delete may shorten the grace, nothing else.
    if (!bound_pod || grace >= (*present)["metadata"]["deletionGracePeriodSeconds"].AsInt())
      return Deleted{present, false};
    ASSIGN_OR_RETURN(ObjectPtr shortened, cluster_.Modify(key, [&](json::Value& object) {
      MarkDeleting(kind, object, grace, "");
    }));
    return Deleted{std::move(shortened), false};
  }
  // A bound pod goes when its process is proved gone, whatever the grace (law 2); a namespace when it is
  // empty.
  const bool waits = bound_pod || kind.kind == "Namespace" || !finalizer.empty() ||
                     !(*present)["metadata"]["finalizers"].AsArray().empty();
  if (waits) {
    ASSIGN_OR_RETURN(ObjectPtr marked, cluster_.Modify(key, [&](json::Value& object) {
      MarkDeleting(kind, object, grace, finalizer);
    }));
    return Deleted{std::move(marked), false};
  }
  ASSIGN_OR_RETURN(ObjectPtr gone, cluster_.store.Delete(key));
  return Deleted{std::move(gone), true};
}

}  // namespace cubeplane::engine
