// What the engine asks of the machine: run this pod as a sandboxed process tree, say how it is, end it.
//
// Implementations: node::Client (the node process, over its Unix socket) and FakeRuntime (tests and the
// simulation). A pod is known by its UID. All calls are idempotent: starting a pod that runs, or removing one
// that is gone, succeeds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/result.h"

namespace cubeplane::engine {

// A tenant is a namespace: its own user id and its own data folder.
struct Tenant {
  std::string id;           // the namespace's data id; the folder is DATA/projects/<id>
  uint32_t uid = 0;         // machine-wide, never reused; the caller's own uid in user mode
  std::string data_folder;  // absolute
};

struct Mount {
  enum class Kind {
    kData,
    kScratch,
    kCode
  };  // the tenant's folder; dies with the pod; an unpacked archive, read-only
  Kind kind = Kind::kData;
  std::string path;        // inside the pod
  std::string sub_path;    // kData: below the tenant's folder, made when absent
  std::string archive;     // kCode: a gzipped tar, at most 1 MiB
  int64_t size_bytes = 0;  // kScratch: limit
};

struct HttpProbe {
  std::string path = "/";
  uint16_t port = 0;
  Duration period = std::chrono::seconds(1);
  Duration timeout = std::chrono::seconds(2);
  int failure_threshold = 3;
};

// The pod's server is reached only through its door: a Unix socket outside the sandbox, which asks for the
// secret.
struct Door {
  uint16_t port = 0;   // where the server listens inside, on the pod's loopback
  std::string secret;  // value of the X-Cubeplane-Door header; checked and stripped
};

struct PodRun {
  std::string uid, name, namespace_name;
  Tenant tenant;
  std::string image;                 // "env:default", or a root folder "dir:/…"
  std::vector<std::string> command;  // argv; first is looked up in the image's PATH
  std::string working_dir = "/";
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  int64_t cpu_milli = 0;  // limits; 0: none
  int64_t memory_bytes = 0;
  int64_t shm_bytes = 64 << 20;
  int64_t tmp_bytes = 1 << 30;
  int64_t pids = 4096;
  std::vector<std::string> devices;  // device files to bind
  std::optional<Door> door;
  std::optional<HttpProbe> readiness;
  Duration grace = std::chrono::seconds(30);  // TERM to KILL
  bool restart = false;  // restart the payload when it ends (restartPolicy Always), with back-off
};

enum class PodPhase {
  kStarting,
  kRunning,
  kExited,
  kLost
};  // lost: the supervisor is gone and so is its tree

struct PodState {
  std::string uid;
  PodPhase phase = PodPhase::kStarting;
  bool ready = false;  // readiness passed (or running, when none is asked for)
  int exit_code = 0;   // kExited; 128 + signal when killed by one
  int signal = 0;
  bool oom_killed = false;
  int restarts = 0;
  std::string message;  // termination message (at most 4 KiB), or why it could not start
  std::optional<Time> started_at, finished_at;
  std::string door_socket;  // absolute path, when it has a door and is running
};

// Threading: on the control thread.
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual async::Task<Result<Tenant>> EnsureTenant(std::string id) = 0;
  // kInvalid: this pod can never start here (unknown image, bad mount); kUnavailable: try again.
  virtual async::Task<Result<void>> Start(PodRun run) = 0;
  // TERM, then KILL after `grace`. Returns once it is asked for; the end comes as a state.
  virtual async::Task<Result<void>> Stop(std::string uid, Duration grace) = 0;
  // Kills what is left and forgets the pod. Its log stays when `keep_log`.
  virtual async::Task<Result<void>> Remove(std::string uid, bool keep_log) = 0;
  virtual async::Task<Result<std::vector<PodState>>> List() = 0;
  // Called on the control thread with each change of a pod's state (also after a reconnect, for all of them).
  virtual void OnChange(std::function<void(const PodState&)> callback) = 0;
  // The file with the pod's output in CRI format (`<RFC3339Nano> stdout F text`); rotated ones have suffix
  // ".1".
  virtual std::string LogPath(const std::string& uid) const = 0;
};

}  // namespace cubeplane::engine
