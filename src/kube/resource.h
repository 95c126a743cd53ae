// The kinds of Kubernetes objects that cubeplane uses, and how their paths are made.
#pragma once

#include <string>

namespace cubeplane::kube {

struct Resource {
  std::string group;    // "" for core
  std::string version;  // "v1"
  std::string plural;   // "pods"
  std::string kind;     // "Pod"
  bool namespaced = true;
};

inline const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kPods{"", "v1", "pods", "Pod"};
inline const Resource kServices{"", "v1", "services", "Service"};
inline const Resource kEndpoints{"", "v1", "endpoints", "Endpoints"};
inline const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline const Resource kSecrets{"", "v1", "secrets", "Secret"};
inline const Resource kEvents{"", "v1", "events", "Event"};
inline const Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
inline const Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
inline const Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline const Resource kLimitRanges{"", "v1", "limitranges", "LimitRange"};
inline const Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet"};

// "/api/v1/namespaces/proj-a/pods/x/log"; name and subresource may be empty. Parts are percent-encoded.
std::string PathOf(const Resource& resource, const std::string& name_space, const std::string& name,
                   const std::string& subresource = "");

}  // namespace cubeplane::kube
