// The objects that people apply and read: Project, Notebook, TrainingJob (design section 5).
//
// Plain values without behaviour: pure data, safe to copy between threads. `codec.h` turns them into JSON and
// back, `validate.h` says what is wrong with them, `defaults.h` fills what was left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/quantity.h"

namespace cubeplane::model {

inline constexpr std::string_view kApiVersion = "cubeplane.io/v1";

using ResourceList =
    std::map<std::string, Quantity>;  // "requests.cpu" or "cpu" -> amount; absent = not limited
using StringMap = std::map<std::string, std::string>;

struct Metadata {
  std::string name;
  std::string project;                   // empty for a Project
  std::string uid;                       // UUIDv7, set by the server
  int64_t resource_version = 0;          // number in the change feed of the last change
  int64_t generation = 0;                // counts changes of the spec
  std::string owner;                     // user who created it, set by the server
  std::optional<Time> created, deleted;  // deleted: asked for; the object goes when its work has ended
  StringMap labels, annotations;
};

struct Condition {
  std::string type;  // "Ready", "GatewayHealthy"
  bool status = false;
  std::string reason;  // a code of api/reasons.yaml
  std::vector<std::pair<std::string, std::string>> params;
  Time since;  // last change of status
};

// ---- Project

enum class Role { kViewer, kMember, kLead };  // within a project; `admin` is a property of the user

struct Contact {
  std::string name, email;
};
struct Member {
  std::string user;
  Role role = Role::kMember;
};
struct PoolQuota {
  std::string name;  // a pool of the cluster (label selector, data per cluster)
  ResourceList limits;
};
struct LimitRange {  // per container
  ResourceList default_limit, default_request, max, min, max_ratio;
  bool empty() const {
    return default_limit.empty() && default_request.empty() && max.empty() && min.empty() &&
           max_ratio.empty();
  }
};
struct Binding {
  std::string cluster = "local";
  std::string resource_group = "public";
  std::vector<PoolQuota> pools;
  ResourceList quota;
  LimitRange limit_range;
};
struct ProjectSpec {
  std::string display_name;
  std::vector<Contact> contacts;
  std::vector<Member> members;
  std::vector<Binding> bindings;
  std::string cohort;
  int32_t weight = 1;
};
struct ProjectStatus {
  std::vector<Condition> conditions;
};
struct Project {
  Metadata metadata;
  ProjectSpec spec;
  ProjectStatus status;
};

// ---- Workloads

enum class WorkloadKind { kNotebook, kTrainingJob };

// "2", "2(A100)", "2(nvidia,A100)", "0.5", as CubeStudio writes them.
struct GpuRequest {
  int64_t milli_cards = 0;    // 500 = half a card
  std::string vendor, model;  // empty = any
};

struct Resources {       // per replica
  Quantity cpu, memory;  // limits; also the requests unless those are given
  std::optional<Quantity> cpu_request, memory_request;
  std::optional<GpuRequest> gpu;
  std::optional<Quantity> ephemeral_storage, shm;
};

struct EnvVar {
  std::string name, value;
};

struct WorkloadSpec {
  std::string image = "env:default";
  std::vector<std::string> command, args;
  std::vector<EnvVar> env;
  Resources resources;
  std::string code;                 // "sha256:…" of an uploaded archive, mounted read-only at /workspace
  std::string pool;                 // asked-for pool of the binding; empty: admission chooses
  std::string cluster;              // asked-for cluster; empty: admission chooses
  int32_t replicas = 1;             // TrainingJob
  std::string priority = "normal";  // low, normal, high
  int32_t retries = 0;              // TrainingJob: attempts after the first
  int64_t time_limit_seconds = 0;   // TrainingJob; 0: none
  bool queue = false;               // Notebook: wait instead of being refused
  bool stopped = false;             // set by stop and start
};

enum class Phase { kWaiting, kAdmitted, kStarting, kRunning, kStopping, kSucceeded, kFailed, kStopped };
inline bool IsTerminal(Phase phase) {
  return phase == Phase::kSucceeded || phase == Phase::kFailed || phase == Phase::kStopped;
}

// Why a workload waits, was refused or failed: a code, its parameters, and the way out.
struct Reason {
  std::string code;  // api/reasons.yaml
  std::vector<std::pair<std::string, std::string>> params;
  bool operator==(const Reason&) const = default;
};

struct AttemptStatus {
  int32_t number = 1;
  std::string cluster, node, pod;  // where it runs or ran
  std::string pod_uid;
  std::string pool;          // that admission fixed; empty: none
  int32_t pod_restarts = 0;  // of the container in that pod, as last seen
  std::optional<Time> admitted, sent, started, ended;
  std::optional<int32_t> exit_code;
  bool never_began = false;  // its send was lost: no try of the spec's retries
  std::string proof;         // how the end was proved: "pod Succeeded", "pod gone, same cluster"
};

struct WorkloadStatus {
  Phase phase = Phase::kWaiting;
  Reason reason;                // of the present phase; empty when there is nothing to say
  std::vector<Reason> details;  // further reasons, e.g. one per cluster or resource
  int32_t place = 0;            // in the queue, from 1; 0: does not wait
  std::optional<Time> accepted, admitted, sent, started, ended, waiting_since;
  std::vector<AttemptStatus> attempts;  // oldest first, at most kMaxAttempts kept
  int32_t restarts = 0;                 // Notebook: of the server process
  std::string address;                  // where it is reached; empty when it is not
  std::string result;                   // JSON text of at most 4 KiB, from the termination message
  std::vector<Condition> conditions;
};
inline constexpr size_t kMaxAttempts = 20;

struct Workload {
  WorkloadKind kind = WorkloadKind::kTrainingJob;
  Metadata metadata;
  WorkloadSpec spec;
  WorkloadStatus status;
};

using Object = std::variant<Project, Workload>;

// "Notebook", "TrainingJob"; "notebooks", "trainingjobs"; "kWaiting" -> "waiting"; and back (nullopt when
// unknown).
std::string_view KindName(WorkloadKind kind);
std::string_view PluralName(WorkloadKind kind);
std::string_view PhaseName(Phase phase);
std::string_view RoleName(Role role);
std::optional<WorkloadKind> ParseKind(std::string_view kind_or_plural);
std::optional<Phase> ParsePhase(std::string_view name);
std::optional<Role> ParseRole(std::string_view name);

}  // namespace cubeplane::model
