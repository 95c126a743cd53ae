#include "engine/statefulset.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "async/sync.h"
#include "base/strings.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr const char* kRevision = "controller-revision-hash";

const Kind& SetKind() { return *FindKindByResource("statefulsets.apps"); }
const Kind& PodKind() { return *FindKindByResource("pods"); }

// "web-6f2c1d0b7a": changes with the template and only with it.
std::string RevisionOf(const json::Value& set) {
  return NameOf(set) + "-" + Sha256Hex(json::WriteCanonical(set["spec"]["template"])).substr(0, 10);
}

std::string PodName(const json::Value& set, int64_t ordinal) {
  return NameOf(set) + "-" + std::to_string(ordinal);
}

int64_t FirstOrdinal(const json::Value& set) { return set["spec"]["ordinals"]["start"].AsInt(0); }

std::string PlaceOf(const json::Value& set, int64_t ordinal) {
  return UidOf(set) + "/" + std::to_string(ordinal);
}

}  // namespace

void StatefulSets::Observe(const Change& change) {
  if (change.key.resource == "statefulsets.apps") marked_.insert(change.key);
  if (change.key.resource != "pods") return;
  const json::Value& owner = ControllerOf(*change.object);
  if (owner["kind"].AsString() == "StatefulSet") {
    marked_.insert(SetKind().Key(change.key.namespace_name, owner["name"].AsString()));
  }
}

void StatefulSets::Reconcile() {
  for (const ObjectKey& key : std::exchange(marked_, {})) Sync(key);
}

StatefulSets::Pods StatefulSets::PodsOf(const json::Value& set) const {
  Pods pods;
  const std::string stem = NameOf(set) + "-";
  for (const ObjectPtr& pod : cluster_.store.List("pods", NamespaceOf(set))) {
    if (ControllerOf(*pod)["uid"].AsString() != UidOf(set) || !NameOf(*pod).starts_with(stem)) continue;
    const std::string tail = NameOf(*pod).substr(stem.size());
    int64_t ordinal = -1;
    const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), ordinal);
    if (error == std::errc() && end == tail.data() + tail.size()) pods[ordinal] = pod;
  }
  return pods;
}

void StatefulSets::Sync(const ObjectKey& key) {
  const ObjectPtr set = cluster_.store.Get(key);
  if (!set) return;
  if (!IsDeleting(*set)) Step(key, *set, PodsOf(*set));
  if (const ObjectPtr after = cluster_.store.Get(key)) WriteStatus(key, *after);
}

// One step: make what is missing, replace what has failed, then shrink, then update; in order, each only when
// the ordinals before it are ready (podManagementPolicy OrderedReady).
void StatefulSets::Step(const ObjectKey& key, const json::Value& set, const Pods& pods) {
  const bool ordered = set["spec"]["podManagementPolicy"].AsString() != "Parallel";
  const int64_t first = FirstOrdinal(set);
  const int64_t end = first + set["spec"]["replicas"].AsInt();
  for (int64_t ordinal = first; ordinal < end; ++ordinal) {
    const bool settled = StepOrdinal(key, set, pods, ordinal);
    if (!settled && ordered) return;
  }
  for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) {
    if (pod->first >= first && pod->first < end) continue;
    if (!IsDeleting(*pod->second)) DeletePod(*pod->second);
    if (ordered) return;
  }
  if (set["spec"]["updateStrategy"]["type"].AsString() == "OnDelete") return;
  const int64_t partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].AsInt();
  const std::string revision = RevisionOf(set);
  for (int64_t ordinal = end - 1; ordinal >= std::max(first, partition); --ordinal) {
    const auto pod = pods.find(ordinal);
    if (pod == pods.end() || IsDeleting(*pod->second)) return;
    if ((*pod->second)["metadata"]["labels"][kRevision].AsString() != revision) {
      DeletePod(*pod->second);
      return;
    }
    if (!IsPodReady(*pod->second)) return;
  }
}

// True when this ordinal is running and ready.
bool StatefulSets::StepOrdinal(const ObjectKey& key, const json::Value& set, const Pods& pods,
                               int64_t ordinal) {
  const auto found = pods.find(ordinal);
  if (found == pods.end()) {
    const Mono now = host_.executor.clock().MonoNow();
    Backoff& backoff = backoffs_[PlaceOf(set, ordinal)];
    if (now < backoff.not_before) {
      host_.tasks.Spawn(MarkAt(key, backoff.not_before - now));
      return false;
    }
    CreatePod(key, set, ordinal);
    return false;
  }
  const json::Value& pod = *found->second;
  if (IsDeleting(pod)) return false;
  if (IsTerminalPhase(PhaseOf(pod))) {
    Backoff& backoff = backoffs_[PlaceOf(set, ordinal)];
    const auto began = ParseTime(pod["status"]["startTime"].AsString());
    if (began && cluster_.clock.Now() - *began >= kReplaceForget) backoff.failures = 0;
    const Duration wait = std::min(kReplaceMax, kReplaceMin * (int64_t{1} << std::min(backoff.failures, 20)));
    ++backoff.failures;
    backoff.not_before = host_.executor.clock().MonoNow() + wait;
    recorder_.Record(
        SetKind(), set, "Warning", "RecreatingFailedPod",
        "StatefulSet " + key.namespace_name + "/" + key.name + " is recreating failed Pod " + NameOf(pod),
        "statefulset-controller");
    DeletePod(pod);
    return false;
  }
  // A pod that waits and is of an older template is replaced without waiting for it to become ready.
  const bool old = pod["metadata"]["labels"][kRevision].AsString() != RevisionOf(set);
  return IsPodReady(pod) || old;
}

void StatefulSets::DeletePod(const json::Value& pod) {
  DeleteOptions options;
  options.uid = UidOf(pod);
  (void)registry_.Delete(PodKind(), NamespaceOf(pod), NameOf(pod), options);
}

void StatefulSets::CreateClaims(const json::Value& set, int64_t ordinal, json::Value& pod) {
  const Kind& kind = *FindKindByResource("persistentvolumeclaims");
  for (const json::Value& form : set["spec"]["volumeClaimTemplates"].AsArray()) {
    const std::string& volume = NameOf(form);
    const std::string name = volume + "-" + PodName(set, ordinal);
    json::Value claim = form;
    claim.Erase("status");
    Meta(claim).Set("name", name);
    if (!cluster_.store.Get(kind.Key(NamespaceOf(set), name)))
      (void)registry_.Create(kind, NamespaceOf(set), std::move(claim), {});
    auto& volumes = Sub(Sub(pod, "spec"), "volumes").MakeArray();
    std::erase_if(volumes, [&](const json::Value& have) { return have["name"].AsString() == volume; });
    volumes.push_back(
        json::Object{{"name", volume}, {"persistentVolumeClaim", json::Object{{"claimName", name}}}});
  }
}

void StatefulSets::CreatePod(const ObjectKey& key, const json::Value& set, int64_t ordinal) {
  const std::string name = PodName(set, ordinal);
  json::Value pod = json::Object{{"metadata", set["spec"]["template"]["metadata"]},
                                 {"spec", set["spec"]["template"]["spec"]}};
  Meta(pod).Set("name", name);
  Meta(pod).Set("ownerReferences", json::Array{OwnerReference(SetKind(), set)});
  json::Value& labels = Sub(Meta(pod), "labels");
  labels.Set(kRevision, RevisionOf(set));
  labels.Set("statefulset.kubernetes.io/pod-name", name);
  labels.Set("apps.kubernetes.io/pod-index", std::to_string(ordinal));
  Sub(pod, "spec").Set("hostname", name);
  if (!set["spec"]["serviceName"].AsString().empty())
    Sub(pod, "spec").Set("subdomain", set["spec"]["serviceName"]);
  CreateClaims(set, ordinal, pod);
  const auto made = registry_.Create(PodKind(), key.namespace_name, std::move(pod), {});
  if (made) {
    recorder_.Record(SetKind(), set, "Normal", "SuccessfulCreate",
                     "create Pod " + name + " in StatefulSet " + key.name + " successful",
                     "statefulset-controller");
    return;
  }
  recorder_.Record(
      SetKind(), set, "Warning", "FailedCreate",
      "create Pod " + name + " in StatefulSet " + key.name + " failed error: " + made.error().message,
      "statefulset-controller");
  Backoff& backoff = backoffs_[PlaceOf(set, ordinal)];
  const Duration wait = std::min(kReplaceMax, kReplaceMin * (int64_t{1} << std::min(backoff.failures, 20)));
  ++backoff.failures;
  backoff.not_before = host_.executor.clock().MonoNow() + wait;
  host_.tasks.Spawn(MarkAt(key, wait));
}

async::Task<void> StatefulSets::MarkAt(ObjectKey key, Duration wait) {
  const bool slept = co_await async::Sleep(host_.executor, wait, host_.tasks.token());
  if (!slept) co_return;
  marked_.insert(key);
  host_.wake();
}

void StatefulSets::WriteStatus(const ObjectKey& key, const json::Value& set) {
  const std::string update = RevisionOf(set);
  int64_t replicas = 0, ready = 0, updated = 0, current = 0;
  std::string current_revision = set["status"]["currentRevision"].AsString();
  if (current_revision.empty()) current_revision = update;
  for (const auto& [ordinal, pod] : PodsOf(set)) {
    ++replicas;
    const std::string& revision = (*pod)["metadata"]["labels"][kRevision].AsString();
    if (IsPodReady(*pod) && !IsDeleting(*pod)) ++ready;
    if (revision == update) ++updated;
    if (revision == current_revision) ++current;
  }
  if (updated == replicas && replicas == set["spec"]["replicas"].AsInt() && ready == replicas) {
    current_revision = update;
    current = updated;
  }
  (void)cluster_.ModifyIfUid(key, UidOf(set), [&](json::Value& object) {
    object.Set("status", json::Object{{"observedGeneration", object["metadata"]["generation"]},
                                      {"replicas", replicas},
                                      {"readyReplicas", ready},
                                      {"availableReplicas", ready},
                                      {"currentReplicas", current},
                                      {"updatedReplicas", updated},
                                      {"currentRevision", current_revision},
                                      {"updateRevision", update},
                                      {"collisionCount", 0}});
  });
}

}  // namespace cubeplane::engine
