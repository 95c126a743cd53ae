// Where the logs and the events of workloads come from: a cluster while the pod is there, the kept copy
// afterwards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "state/ledger.h"

namespace cubeplane::apiserver {

struct LogOptions {
  bool follow = false;          // goes on until the attempt has ended
  std::optional<int64_t> tail;  // only the last lines
  bool timestamps = false;      // RFC 3339 before each line
};

// Threading: on the control thread.
class LogSource {
 public:
  virtual ~LogSource() = default;
  // Lines as the program wrote them. kNotFound when the attempt has no log (any more), kConflict when it
  // has none yet, kUnavailable when its cluster does not answer.
  virtual async::Task<Result<std::shared_ptr<http::BodyStream>>> Open(state::WorkloadPtr workload,
                                                                      int32_t attempt,
                                                                      LogOptions options) = 0;
};

struct ClusterEvent {
  std::string type, reason, message, object;  // "Warning", "FailedScheduling", …, "Pod/bert-ft-…"
  int64_t count = 1;
  std::optional<Time> first_seen, last_seen;
};

class EventSource {
 public:
  virtual ~EventSource() = default;
  // What the cluster says about the workload's objects, oldest first, at most `limit`.
  virtual async::Task<Result<std::vector<ClusterEvent>>> List(state::WorkloadPtr workload, size_t limit) = 0;
};

}  // namespace cubeplane::apiserver
