// The verbs that write, with Kubernetes' order: read, default, validate, admit, store.
//
// The API's handler and the engine's own controllers write through here, so that a StatefulSet's pod meets
// the same quota as a person's. Threading: the control thread only; each call is finished when it returns.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/cluster.h"
#include "engine/status.h"

namespace cubeplane::engine {

struct WriteOptions {
  bool dry_run = false;  // everything but the storing; the answer is what would have been stored
};

struct DeleteOptions {
  std::optional<int64_t> grace_seconds;
  std::string propagation;            // Background, Foreground, Orphan; "" is Background
  std::string uid, resource_version;  // preconditions
  bool dry_run = false;
  // Errors: 422 for what is malformed.
  static Answer<DeleteOptions> Read(const json::Value& body);
};

class Registry {
 public:
  // Changes the object (LimitRange's defaults) or refuses it (limits, quota); `before` is null for a create.
  using Admit = std::function<Answer<void>(const Kind&, json::Value& object, const json::Value* before)>;
  Registry(const Cluster& cluster, Admit admit) : cluster_(cluster), admit_(std::move(admit)) {}

  Answer<ObjectPtr> Get(const Kind& kind, const std::string& namespace_name, const std::string& name) const;
  Answer<ObjectPtr> Create(const Kind& kind, const std::string& namespace_name, json::Value object,
                           const WriteOptions& options);
  // `subresource` is "", "status" or "scale" (then `object` is a Scale and the answer, too).
  Answer<ObjectPtr> Update(const Kind& kind, const std::string& namespace_name, const std::string& name,
                           const std::string& subresource, json::Value object, const WriteOptions& options);
  // `type` is the media type of the patch. An apply patch creates what is not there (`created` says so).
  Answer<ObjectPtr> Patch(const Kind& kind, const std::string& namespace_name, const std::string& name,
                          const std::string& subresource, const std::string& type, const json::Value& patch,
                          const WriteOptions& options, bool& created);
  // Marks or removes; gives the object as it stands (or stood) and whether it is gone.
  struct Deleted {
    ObjectPtr object;
    bool gone = false;
  };
  Answer<Deleted> Delete(const Kind& kind, const std::string& namespace_name, const std::string& name,
                         const DeleteOptions& options);

 private:
  Answer<void> CheckIdentity(const Kind& kind, json::Value& object, const std::string& namespace_name,
                             const std::string& name) const;
  Answer<void> CheckNamespace(const Kind& kind, const json::Value& object) const;
  Answer<json::Value> MergeForUpdate(const Kind& kind, const json::Value& present,
                                     const std::string& subresource, json::Value object) const;
  Answer<ObjectPtr> UpdateScale(const Kind& kind, const ObjectPtr& present, const json::Value& scale,
                                const WriteOptions& options);
  Answer<ObjectPtr> StoreUpdate(const Kind& kind, const ObjectPtr& present, json::Value merged,
                                const WriteOptions& options);
  void MarkDeleting(const Kind& kind, json::Value& object, int64_t grace, const std::string& finalizer) const;

  const Cluster& cluster_;
  Admit admit_;
};

// The Scale of a StatefulSet.
json::Value ScaleOf(const json::Value& set);

}  // namespace cubeplane::engine
