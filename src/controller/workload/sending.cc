// What goes to the cluster: sending an attempt, and the notebook's StatefulSet. The rest of the controller is
// in controller.cc.
#include "base/strings.h"
#include "controller/names.h"
#include "controller/workload/controller.h"

namespace cubeplane::controller::workload {

using model::Phase;

// ---- Sending
// ----------------------------------------------------------------------------------------------------------

async::Task<Result<void>> Controller::Send(state::WorkloadPtr workload) {
  // What is there already counts in the cluster's quota, so a trial beside it could be refused for its own
  // sake.
  Seen seen;
  Result<void> looked = co_await Look(workload, seen);
  CO_RETURN_IF_ERROR(looked);
  const bool notebook = workload->kind == model::WorkloadKind::kNotebook;
  if (seen.pod.IsNull() && seen.stateful_set.IsNull()) {
    const ObjectSettings settings = SettingsFor(*workload);
    json::Value trial = notebook ? NotebookTrialPod(*workload, settings) : TrainingPod(*workload, settings);
    Result<bool> fits = co_await TryOut(workload, std::move(trial));
    CO_RETURN_IF_ERROR(fits);
    if (!*fits) co_return Result<void>();
  }
  Result<void> sent;
  if (notebook) {
    sent = co_await SendNotebook(workload);
  } else {
    sent = co_await SendTraining(workload);
  }
  co_return sent;
}

// Asks the cluster's own admission. False: it refused, and the ledger knows.
async::Task<Result<bool>> Controller::TryOut(state::WorkloadPtr workload, json::Value pod) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  Result<json::Value> trial =
      co_await parts_.cluster.client().Create(kube::kPods, name_space, std::move(pod), {.dry_run = true});
  if (trial || trial.error().code == Code::kAlreadyExists) co_return true;
  const Error& error = trial.error();
  if (Retryable(error.code) || error.code == Code::kUnauthenticated || error.code == Code::kNotFound) {
    co_return Fail(error.Wrap("trying out the pod of " + workload->metadata.name));
  }
  const std::string& uid = workload->metadata.uid;
  const int32_t attempt = CurrentAttempt(*workload);
  if (error.message.find("exceeded quota") != std::string::npos) {
    // Not a failure: the workload keeps its place and says what the cluster said.
    model::Reason reason{"cluster_quota", {{"cluster", parts_.cluster.name()}, {"message", error.message}}};
    Result<void> back = co_await parts_.ledger.ClusterRefused(uid, attempt, std::move(reason));
    CO_RETURN_IF_ERROR(back);
    co_return false;
  }
  EndDecision end;
  end.phase = Phase::kFailed;
  end.reason = {"cluster_refused", {{"message", error.message}}};
  end.proof = "refused by the cluster's dry run; nothing was created";
  Result<void> ended = co_await End(workload, std::move(end));
  CO_RETURN_IF_ERROR(ended);
  co_return false;
}

// Commits the sent mark; false when it was there before.
async::Task<Result<bool>> Controller::MarkSent(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  const auto found = parts_.cluster.namespaces().Get("", name_space);
  if (!found) co_return Fail(Code::kUnavailable, "namespace " + name_space + " is not there yet");
  Result<bool> first =
      co_await parts_.ledger.MarkSent(workload->metadata.uid, CurrentAttempt(*workload),
                                      parts_.cluster.identity(), found->At("metadata.uid").AsString());
  co_return first;
}

async::Task<Result<void>> Controller::SendTraining(state::WorkloadPtr workload) {
  Result<bool> first = co_await MarkSent(workload);
  CO_RETURN_IF_ERROR(first);
  if (!*first) {
    // We were killed, or lost the answer, between the mark and the end of a create. Only the cluster knows.
    Result<json::Value> pod = co_await FindPod(workload);
    CO_RETURN_IF_ERROR(pod);
    if (pod->IsNull()) {
      if (MayStillAppear(*workload)) {
        co_return Fail(Code::kUnavailable,
                       "waiting whether the pod of " + workload->metadata.name + " still appears");
      }
      EndDecision end;
      end.phase = Phase::kFailed;
      end.reason = {"never_arrived", {{"pod", PodName(*workload)}}};
      end.proof = "sent, but pod " + PodName(*workload) + " not found by the API server";
      end.never_began = true;
      Result<void> ended = co_await End(workload, std::move(end));
      co_return ended;
    }
  } else {
    Result<void> code = co_await CreateCode(workload);
    CO_RETURN_IF_ERROR(code);
    Result<void> made =
        co_await CreateUnlessThere(kube::kPods, TrainingPod(*workload, SettingsFor(*workload)));
    CO_RETURN_IF_ERROR(made);
  }
  StatusPatch status;
  status.pod = PodName(*workload);
  Result<void> shown = co_await SetStatus(workload, std::move(status));
  co_return shown;
}

async::Task<Result<void>> Controller::SendNotebook(state::WorkloadPtr workload) {
  const ObjectSettings settings = SettingsFor(*workload);
  // A StatefulSet never has two pods of one name alive, so a second try is harmless: the mark is for the
  // record.
  Result<bool> marked = co_await MarkSent(workload);
  CO_RETURN_IF_ERROR(marked);
  Result<void> code = co_await CreateCode(workload);
  CO_RETURN_IF_ERROR(code);
  Result<void> secret = co_await CreateUnlessThere(kube::kSecrets, DoorSecretObject(*workload, settings));
  CO_RETURN_IF_ERROR(secret);
  Result<void> service = co_await CreateUnlessThere(kube::kServices, NotebookService(*workload, settings));
  CO_RETURN_IF_ERROR(service);
  Result<void> set =
      co_await CreateUnlessThere(kube::kStatefulSets, NotebookStatefulSet(*workload, settings, 1));
  CO_RETURN_IF_ERROR(set);
  StatusPatch status;
  status.pod = PodName(*workload);
  Result<void> shown = co_await SetStatus(workload, std::move(status));
  co_return shown;
}

async::Task<Result<void>> Controller::CreateUnlessThere(kube::Resource resource, json::Value object) {
  const std::string name_space = object.At("metadata.namespace").AsString();
  const std::string name = object.At("metadata.name").AsString();
  const std::string uid = object["metadata"]["labels"][kLabelWorkload].AsString();
  Result<json::Value> made = co_await parts_.cluster.client().Create(resource, name_space, std::move(object));
  if (made) co_return Result<void>();
  if (made.error().code != Code::kAlreadyExists)
    co_return Fail(made.error().Wrap("creating " + resource.kind + " " + name));
  Result<json::Value> there = co_await parts_.cluster.client().Get(resource, name_space, name);
  CO_RETURN_IF_ERROR(there);
  if (!IsOurs(*there, uid)) {
    co_return Fail(Code::kAlreadyExists,
                   resource.kind + " " + name_space + "/" + name + " is there and is not ours");
  }
  co_return Result<void>();
}

async::Task<Result<void>> Controller::CreateCode(state::WorkloadPtr workload) {
  if (workload->spec.code.empty()) co_return Result<void>();
  auto bytes = std::make_shared<std::string>();
  auto look = [bytes, digest = workload->spec.code](storage::Reader& reader) -> Result<void> {
    ASSIGN_OR_RETURN(auto blob, reader.GetBlob(digest));
    if (!blob) return Fail(Code::kNotFound, "the uploaded code " + digest + " is no longer there");
    *bytes = std::move(blob->bytes);
    return {};
  };
  Result<void> read = co_await parts_.store.Read(std::move(look));
  CO_RETURN_IF_ERROR(read);
  json::Value object = CodeConfigMap(*workload, SettingsFor(*workload), Base64(*bytes));
  Result<void> made = co_await CreateUnlessThere(kube::kConfigMaps, std::move(object));
  co_return made;
}

// ---- The notebook's StatefulSet
// ---------------------------------------------------------------------------------------

async::Task<Result<void>> Controller::ScaleUp(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  Result<json::Value> there =
      co_await parts_.cluster.client().Get(kube::kStatefulSets, name_space, BaseName(*workload));
  CO_RETURN_IF_ERROR(there);
  const ObjectSettings settings = SettingsFor(*workload);
  const std::string& of_attempt =
      (*there)["spec"]["template"]["metadata"]["labels"][kLabelAttempt].AsString();
  if (there->At("spec.replicas").AsInt() > 0 && of_attempt == std::to_string(CurrentAttempt(*workload))) {
    co_return Result<void>();  // done before; the cache has not caught up
  }
  Result<bool> fits = co_await TryOut(workload, NotebookTrialPod(*workload, settings));
  CO_RETURN_IF_ERROR(fits);
  if (!*fits) co_return Result<void>();
  Result<bool> marked = co_await MarkSent(workload);
  CO_RETURN_IF_ERROR(marked);
  const json::Value wanted = NotebookStatefulSet(*workload, settings, 1);
  json::Object& spec = there->MakeObject()["spec"].MakeObject();
  spec.Set("replicas", 1);
  spec.Set("template", wanted["spec"]["template"]);
  Result<json::Value> updated =
      co_await parts_.cluster.client().Update(kube::kStatefulSets, name_space, std::move(*there));
  if (!updated) co_return Fail(updated.error().Wrap("starting " + workload->metadata.name));
  StatusPatch status;
  status.pod = PodName(*workload);
  status.restarts = workload->status.restarts;
  Result<void> shown = co_await SetStatus(workload, std::move(status));
  co_return shown;
}

async::Task<Result<void>> Controller::ScaleDown(state::WorkloadPtr workload) {
  json::Value patch = json::Object{{"spec", json::Object{{"replicas", 0}}}};
  Result<json::Value> patched =
      co_await parts_.cluster.client().Patch(kube::kStatefulSets, NamespaceOf(workload->metadata.project),
                                             BaseName(*workload), kube::PatchType::kMerge, std::move(patch));
  if (!patched && patched.error().code != Code::kNotFound) {
    co_return Fail(patched.error().Wrap("stopping " + workload->metadata.name));
  }
  co_return Result<void>();
}

async::Task<Result<void>> Controller::CleanUp(state::WorkloadPtr workload) {
  const std::string name_space = NamespaceOf(workload->metadata.project);
  const std::pair<kube::Resource, std::string> objects[] = {{kube::kStatefulSets, BaseName(*workload)},
                                                            {kube::kServices, BaseName(*workload)},
                                                            {kube::kSecrets, SecretName(*workload)},
                                                            {kube::kConfigMaps, CodeName(*workload)}};
  for (const auto& [resource, name] : objects) {
    Result<json::Value> gone = co_await parts_.cluster.client().Delete(resource, name_space, name);
    if (!gone && gone.error().code != Code::kNotFound)
      co_return Fail(gone.error().Wrap("removing " + resource.kind + " " + name));
  }
  co_return Result<void>();
}

}  // namespace cubeplane::controller::workload
