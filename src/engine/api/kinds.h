// The kinds that the engine serves, as data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store.h"

namespace cubeplane::engine {

struct Kind {
  std::string group;  // "" for core
  std::string version = "v1";
  std::string plural, singular, kind;
  std::vector<std::string> short_names;
  bool namespaced = true;
  bool has_status = false;  // a status subresource: plain writes leave the status alone
  bool has_scale = false;
  bool has_generation = false;      // metadata.generation counts changes of the spec
  std::vector<std::string> fields;  // field selectors beside metadata.name and metadata.namespace

  // "v1", "apps/v1"
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  // "pods", "statefulsets.apps": the store's name, and how messages call it.
  std::string Qualified() const { return group.empty() ? plural : plural + "." + group; }
  ObjectKey Key(std::string_view namespace_name, std::string_view name) const {
    return {Qualified(), namespaced ? std::string(namespace_name) : "", std::string(name)};
  }
};

const std::vector<Kind>& Kinds();
// Null when there is no such kind.
const Kind* FindKind(std::string_view group, std::string_view version, std::string_view plural);
// By the store's name ("statefulsets.apps").
const Kind* FindKindByResource(std::string_view resource);
// By apiVersion and kind, as manifests and ownerReferences name them.
const Kind* FindKindByName(std::string_view api_version, std::string_view kind);

}  // namespace cubeplane::engine
