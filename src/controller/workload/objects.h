// The Kubernetes objects of a workload, as JSON. Pure.
#pragma once

#include <string>

#include "json/value.h"
#include "model/objects.h"

namespace cubeplane::controller::workload {

struct ObjectSettings {
  std::string instance;  // instance id, in a label of everything we make
  std::string resource_group = "public";
  std::string origin;          // of a notebook: "http://nb--demo.localhost:8080"
  std::string door_secret;     // of a notebook
  json::Object pool_selector;  // labels of the pool's nodes
};

inline constexpr uint16_t kNotebookPort = 8888;

// The one bare Pod of the current attempt (decision 11): restartPolicy Never.
json::Value TrainingPod(const model::Workload& workload, const ObjectSettings& settings);
// The notebook's StatefulSet with `replicas`, its Service, and the Secret that its door asks for.
json::Value NotebookStatefulSet(const model::Workload& workload, const ObjectSettings& settings,
                                int replicas);
json::Value NotebookService(const model::Workload& workload, const ObjectSettings& settings);
json::Value DoorSecretObject(const model::Workload& workload, const ObjectSettings& settings);
// A bare Pod of the StatefulSet's template, for the dry run that asks the cluster's admission.
json::Value NotebookTrialPod(const model::Workload& workload, const ObjectSettings& settings);
// The immutable ConfigMap with the submitted folder (`archive_base64`: gzipped tar).
json::Value CodeConfigMap(const model::Workload& workload, const ObjectSettings& settings,
                          std::string archive_base64);

}  // namespace cubeplane::controller::workload
