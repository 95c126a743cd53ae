#include "engine/api/discovery.h"

#include "engine/api/kinds.h"

namespace cubeplane::engine {
namespace {

json::Value Strings(std::initializer_list<const char*> words) {
  json::Array list;
  for (const char* word : words) list.emplace_back(word);
  return list;
}

json::Value Resource(const Kind& kind, const std::string& subresource, json::Value verbs) {
  json::Object entry{{"name", kind.plural + (subresource.empty() ? "" : "/" + subresource)},
                     {"singularName", subresource.empty() ? kind.singular : ""},
                     {"namespaced", kind.namespaced},
                     {"kind", subresource == "scale" ? "Scale" : kind.kind},
                     {"verbs", std::move(verbs)}};
  if (subresource == "scale") {
    entry.Set("group", "autoscaling");
    entry.Set("version", "v1");
  }
  if (!subresource.empty()) return entry;
  json::Array names;
  for (const std::string& name : kind.short_names) names.emplace_back(name);
  if (!names.empty()) entry.Set("shortNames", std::move(names));
  if (kind.kind == "Pod" || kind.kind == "Service" || kind.kind == "StatefulSet")
    entry.Set("categories", Strings({"all"}));
  return entry;
}

json::Value ResourceList(std::string_view group, const std::string& group_version) {
  json::Array resources;
  for (const Kind& kind : Kinds()) {
    if (kind.group != group) continue;
    resources.push_back(Resource(
        kind, "",
        Strings({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"})));
    if (kind.has_status) resources.push_back(Resource(kind, "status", Strings({"get", "patch", "update"})));
    if (kind.has_scale) resources.push_back(Resource(kind, "scale", Strings({"get", "patch", "update"})));
    if (kind.kind == "Pod") resources.push_back(Resource(kind, "log", Strings({"get"})));
  }
  return json::Object{{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", group_version},
                      {"resources", std::move(resources)}};
}

json::Value AppsGroup() {
  const json::Value version = json::Object{{"groupVersion", "apps/v1"}, {"version", "v1"}};
  return json::Object{{"name", "apps"}, {"versions", json::Array{version}}, {"preferredVersion", version}};
}

json::Value Version() {
  return json::Object{{"major", "1"},    {"minor", "30"},           {"gitVersion", kGitVersion},
                      {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                      {"goVersion", ""}, {"compiler", "clang"},     {"platform", "linux/amd64"}};
}

}  // namespace

std::optional<json::Value> Discovery(std::string_view path) {
  if (path == "/version") return Version();
  if (path == "/api") {
    return json::Object{{"kind", "APIVersions"},
                        {"versions", Strings({"v1"})},
                        {"serverAddressByClientCIDRs", json::Array{}}};
  }
  if (path == "/apis") {
    return json::Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", json::Array{AppsGroup()}}};
  }
  if (path == "/apis/apps") {
    json::Value group = AppsGroup();
    group.Set("kind", "APIGroup");
    group.Set("apiVersion", "v1");
    return group;
  }
  if (path == "/api/v1") return ResourceList("", "v1");
  if (path == "/apis/apps/v1") return ResourceList("apps", "apps/v1");
  return std::nullopt;
}

}  // namespace cubeplane::engine
