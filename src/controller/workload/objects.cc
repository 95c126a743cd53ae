#include "controller/workload/objects.h"

#include "controller/names.h"
#include "model/labels.h"
#include "model/validate.h"

namespace cubeplane::controller::workload {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::string HomeName(const model::Workload& workload) {
  const std::string name = LabelValue(workload.metadata.owner);
  return name.empty() ? "user" : name;
}

Value Metadata(const model::Workload& workload, const ObjectSettings& settings, std::string name) {
  Object labels = WorkloadLabels(workload, settings.instance);
  labels.Set(kLabelAttempt, std::to_string(CurrentAttempt(workload)));
  return Object{{"name", std::move(name)},
                {"namespace", NamespaceOf(workload.metadata.project)},
                {"labels", std::move(labels)},
                {"annotations", Object{{std::string(kLabelUser), workload.metadata.owner}}}};
}

Value ResourceAmounts(const model::Workload& workload) {
  const model::Resources& asked = workload.spec.resources;
  Object limits{{"cpu", asked.cpu.ToString()}, {"memory", asked.memory.ToString()}};
  Object requests{{"cpu", asked.cpu_request.value_or(asked.cpu).ToString()},
                  {"memory", asked.memory_request.value_or(asked.memory).ToString()}};
  if (asked.ephemeral_storage) {
    limits.Set("ephemeral-storage", asked.ephemeral_storage->ToString());
    requests.Set("ephemeral-storage", asked.ephemeral_storage->ToString());
  }
  if (asked.gpu) {
    const model::Accelerator* card = model::FindAccelerator(asked.gpu->vendor, asked.gpu->model);
    // Validation has refused unknown cards, so there is a row; whole cards are counted up.
    if (card) {
      const std::string count = std::to_string((asked.gpu->milli_cards + 999) / 1000);
      limits.Set(card->resource, count);
      requests.Set(card->resource, count);
    }
  }
  return Object{{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

Array Environment(const model::Workload& workload) {
  Array env;
  auto add = [&env](std::string name, std::string value) {
    env.push_back(Object{{"name", std::move(name)}, {"value", std::move(value)}});
  };
  const std::string folder = "/data/jobs/" + BaseName(workload);
  add("HOME", "/home/" + HomeName(workload));
  add("USER", HomeName(workload));
  add("CUBEPLANE_PROJECT", workload.metadata.project);
  add("CUBEPLANE_WORKLOAD", workload.metadata.name);
  add("CUBEPLANE_ATTEMPT", std::to_string(CurrentAttempt(workload)));
  if (workload.kind == model::WorkloadKind::kTrainingJob) {
    add("CUBEPLANE_OUTPUT_DIR", folder);
    add("CUBEPLANE_CHECKPOINT_DIR", folder + "/checkpoints");
    add("PYTHONUNBUFFERED", "1");
  }
  for (const model::EnvVar& var : workload.spec.env) add(var.name, var.value);
  return env;
}

Array Command(const model::Workload& workload, const ObjectSettings& settings) {
  Array command;
  for (const std::string& word : workload.spec.command) command.push_back(word);
  if (!command.empty() || workload.kind != model::WorkloadKind::kNotebook) return command;
  // JupyterLab without a log-in of its own: the door in front of it asks for the gateway's secret, and the
  // gateway for a signed-in owner. Jupyter's own XSRF check stays on. The origin is fixed, because the
  // gateway passes the public Host.
  const std::string home = "/data/home/" + HomeName(workload);
  for (const std::string& word :
       {std::string("jupyter-lab"), std::string("--no-browser"), std::string("--ip=127.0.0.1"),
        "--port=" + std::to_string(kNotebookPort), std::string("--IdentityProvider.token="),
        std::string("--PasswordIdentityProvider.hashed_password="),
        std::string("--ServerApp.allow_remote_access=True"), "--ServerApp.allow_origin=" + settings.origin,
        std::string("--ServerApp.root_dir=/data"), "--FileContentsManager.preferred_dir=" + home,
        std::string("--ServerApp.terminado_settings={\"shell_command\":[\"/bin/bash\"]}"),
        std::string("--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        std::string("--LabApp.news_url=")}) {
    command.push_back(word);
  }
  return command;
}

Value Container(const model::Workload& workload, const ObjectSettings& settings) {
  Object container{{"name", "main"}, {"image", workload.spec.image}};
  const Array command = Command(workload, settings);
  if (!command.empty()) container.Set("command", command);
  if (!workload.spec.args.empty()) {
    Array args;
    for (const std::string& word : workload.spec.args) args.push_back(word);
    container.Set("args", std::move(args));
  }
  const bool has_code = !workload.spec.code.empty();
  container.Set("workingDir", has_code ? "/workspace" : "/data");
  container.Set("env", Environment(workload));
  container.Set("resources", ResourceAmounts(workload));
  container.Set("terminationMessagePath", "/dev/termination-log");
  Array mounts{Object{{"name", "data"}, {"mountPath", "/data"}},
               Object{{"name", "data"},
                      {"mountPath", "/home/" + HomeName(workload)},
                      {"subPath", "home/" + HomeName(workload)}},
               Object{{"name", "scratch"}, {"mountPath", "/scratch"}},
               Object{{"name", "shm"}, {"mountPath", "/dev/shm"}}};
  if (has_code) mounts.push_back(Object{{"name", "code"}, {"mountPath", "/workspace"}, {"readOnly", true}});
  container.Set("volumeMounts", std::move(mounts));
  if (workload.kind == model::WorkloadKind::kNotebook) {
    container.Set("ports", Array{Object{{"name", "http"}, {"containerPort", int64_t{kNotebookPort}}}});
    // /api answers as soon as the server does, and without a log-in.
    container.Set("readinessProbe",
                  Object{{"httpGet", Object{{"path", "/api"}, {"port", int64_t{kNotebookPort}}}},
                         {"periodSeconds", 1}});
  }
  return container;
}

Value PodSpec(const model::Workload& workload, const ObjectSettings& settings) {
  const bool notebook = workload.kind == model::WorkloadKind::kNotebook;
  const model::Resources& asked = workload.spec.resources;
  Object scratch;
  if (asked.ephemeral_storage) scratch.Set("sizeLimit", asked.ephemeral_storage->ToString());
  Object memory{{"medium", "Memory"}};
  if (asked.shm) memory.Set("sizeLimit", asked.shm->ToString());
  Array volumes{Object{{"name", "data"}, {"persistentVolumeClaim", Object{{"claimName", kDataClaim}}}},
                Object{{"name", "scratch"}, {"emptyDir", std::move(scratch)}},
                Object{{"name", "shm"}, {"emptyDir", std::move(memory)}}};
  if (!workload.spec.code.empty()) {
    volumes.push_back(Object{{"name", "code"}, {"configMap", Object{{"name", CodeName(workload)}}}});
  }
  // The signpost: only nodes of the group, and of the pool that admission fixed.
  Array terms{Object{{"key", model::Labels().resource_group},
                     {"operator", "In"},
                     {"values", Array{settings.resource_group}}}};
  for (const auto& [key, value] : settings.pool_selector) {
    terms.push_back(Object{{"key", key}, {"operator", "In"}, {"values", Array{value}}});
  }
  Object spec{{"restartPolicy", notebook ? "Always" : "Never"},
              {"automountServiceAccountToken", false},
              {"enableServiceLinks", false},
              {"terminationGracePeriodSeconds", notebook ? 10 : 30},
              {"containers", Array{Container(workload, settings)}},
              {"volumes", std::move(volumes)}};
  Object required{{"nodeSelectorTerms", Array{Object{{"matchExpressions", std::move(terms)}}}}};
  spec.Set("affinity", Object{{"nodeAffinity", Object{{"requiredDuringSchedulingIgnoredDuringExecution",
                                                       std::move(required)}}}});
  if (settings.resource_group != model::Labels().default_group) {
    // The exact taint of the group, never a broad one.
    spec.Set("tolerations", Array{Object{{"key", model::Labels().group_taint},
                                         {"operator", "Equal"},
                                         {"value", settings.resource_group},
                                         {"effect", "NoSchedule"}}});
  }
  return spec;
}

void AddDoor(Value& metadata, const model::Workload& workload) {
  Object& annotations = metadata.MakeObject()["annotations"].MakeObject();
  annotations.Set(kDoorPort, std::to_string(kNotebookPort));
  annotations.Set(kDoorSecret, SecretName(workload));
}

}  // namespace

Value TrainingPod(const model::Workload& workload, const ObjectSettings& settings) {
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", Metadata(workload, settings, PodName(workload))},
                {"spec", PodSpec(workload, settings)}};
}

Value NotebookTrialPod(const model::Workload& workload, const ObjectSettings& settings) {
  Value metadata = Metadata(workload, settings, BaseName(workload) + "-trial");
  AddDoor(metadata, workload);
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", std::move(metadata)},
                {"spec", PodSpec(workload, settings)}};
}

Value NotebookStatefulSet(const model::Workload& workload, const ObjectSettings& settings, int replicas) {
  Value template_metadata = Metadata(workload, settings, "");
  template_metadata.Erase("name");
  template_metadata.Erase("namespace");
  AddDoor(template_metadata, workload);
  Object selector{{std::string(kLabelWorkload), workload.metadata.uid}};
  return Object{{"apiVersion", "apps/v1"},
                {"kind", "StatefulSet"},
                {"metadata", Metadata(workload, settings, BaseName(workload))},
                {"spec", Object{{"replicas", replicas},
                                {"serviceName", BaseName(workload)},
                                {"selector", Object{{"matchLabels", std::move(selector)}}},
                                {"template", Object{{"metadata", std::move(template_metadata)},
                                                    {"spec", PodSpec(workload, settings)}}}}}};
}

Value NotebookService(const model::Workload& workload, const ObjectSettings& settings) {
  Object port{{"name", "http"}, {"port", 80}, {"targetPort", "http"}};
  return Object{{"apiVersion", "v1"},
                {"kind", "Service"},
                {"metadata", Metadata(workload, settings, BaseName(workload))},
                {"spec", Object{{"clusterIP", "None"},
                                {"selector", Object{{std::string(kLabelWorkload), workload.metadata.uid}}},
                                {"ports", Array{std::move(port)}}}}};
}

Value DoorSecretObject(const model::Workload& workload, const ObjectSettings& settings) {
  return Object{{"apiVersion", "v1"},
                {"kind", "Secret"},
                {"metadata", Metadata(workload, settings, SecretName(workload))},
                {"type", "Opaque"},
                {"stringData", Object{{"secret", settings.door_secret}}}};
}

Value CodeConfigMap(const model::Workload& workload, const ObjectSettings& settings,
                    std::string archive_base64) {
  return Object{{"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata", Metadata(workload, settings, CodeName(workload))},
                {"immutable", true},
                {"binaryData", Object{{"code.tar.gz", std::move(archive_base64)}}}};
}

}  // namespace cubeplane::controller::workload
