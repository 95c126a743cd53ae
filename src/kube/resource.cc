#include "kube/resource.h"

#include "http/message.h"

namespace cubeplane::kube {

std::string PathOf(const Resource& resource, const std::string& name_space, const std::string& name,
                   const std::string& subresource) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  path += resource.version;
  if (resource.namespaced && !name_space.empty()) path += "/namespaces/" + http::PercentEncode(name_space);
  path += "/" + resource.plural;
  if (!name.empty()) path += "/" + http::PercentEncode(name);
  if (!subresource.empty()) path += "/" + subresource;
  return path;
}

}  // namespace cubeplane::kube
