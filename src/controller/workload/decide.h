// What to do next for one workload: a pure function from what is seen and the time to a short list of steps.
//
// Law 2 lives here: a pod is created only after its sent mark, and when the mark was there before (we were
// killed in between), only a look at the cluster decides; an attempt whose pod cannot be found is ended with
// that as its proof, and what follows is a new attempt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "model/objects.h"

namespace cubeplane::controller::workload {

// What the cluster shows of one workload. Objects are null when they are not there.
struct Seen {
  bool caches_complete = false;  // until then absence means nothing
  bool project_ready = false;    // namespace, quota and data claim are there
  json::Value pod;               // of the current attempt (by name), with the workload's UID in its labels
  json::Value stateful_set;      // of a notebook
  bool looked = false;           // pod and StatefulSet are the API server's own answer of just now
  // The API server itself was asked for both and said so, and no create of ours can still be on its way.
  bool absence_confirmed = false;
};

enum class Step {
  kSend,       // mark, then create the objects of the current attempt
  kLook,       // ask the API server itself for the pod (and the StatefulSet), then decide again
  kScaleUp,    // the StatefulSet is there from before: bring it to this attempt's template and one replica
  kSetStatus,  // `status` is what must be shown
  kStopPod,    // keep the log, then delete the training pod with grace
  kScaleDown,  // StatefulSet to 0 replicas
  kKeepLog,    // the pod has ended: store its log before it goes
  kEnd,        // `end` goes to the ledger
  kRemovePod,  // an ended training pod
  kCleanUp,    // StatefulSet, Service, Secret, code of a deleted workload
  kForget,     // the object itself
};

struct StatusPatch {
  model::Phase phase = model::Phase::kStarting;
  model::Reason reason;
  std::string node, pod, pod_uid;
  std::optional<Time> started;
  int32_t restarts = 0;      // over all pods, by pod UID and container restarts (decision 11)
  int32_t pod_restarts = 0;  // of the container in this pod
};

struct EndDecision {
  model::Phase phase = model::Phase::kFailed;
  model::Reason reason;
  std::string proof;
  std::optional<int32_t> exit_code;
  std::string result;
  bool retry = false;        // another attempt if the spec's retries allow
  bool never_began = false;  // another attempt in any case
};

struct Plan {
  std::vector<Step> steps;
  StatusPatch status;
  EndDecision end;
  std::optional<Duration> again;  // look again after this time, though nothing may change
};

Plan Decide(const model::Workload& workload, const Seen& seen, Time now);

// The termination message when it is a JSON object of at most 4 KiB, else "".
std::string ResultOf(const json::Value& pod);

}  // namespace cubeplane::controller::workload
