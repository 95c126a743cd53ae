// The laws, checked against what was promised, what the store says and what really runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/fake_runtime.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::sim {

inline constexpr size_t kMaxViolations = 10;

// Threading: on the executor. Lifetime: the runtime outlives it.
class Checks {
 public:
  explicit Checks(engine::FakeRuntime& runtime) : runtime_(runtime) {}

  // A 2xx: from now on it must be known.
  void Accepted(const model::Workload& workload);
  // It was asked to go: it may be forgotten.
  void MayGo(const std::string& uid) { accepted_.erase(uid); }

  // Everything that must hold at any moment between two commits. Runs inside a read of the store, in one
  // turn.
  Result<void> Moment(storage::Reader& reader);
  // What must hold when faults have ceased and everything has been stopped: nothing is left over.
  Result<void> End(storage::Reader& reader);

  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void Violated(std::string text);
  // Law 1: use grows only within the quota that was in force.
  Result<void> NoOversell(storage::Reader& reader);
  // Law 1: what runs is covered by a reservation.
  Result<void> CoveredWork(storage::Reader& reader);
  // Law 2: a training attempt ran at most once; no two pods of one workload at a time.
  void NothingTwice();
  // Law 2: what was accepted is there.
  Result<void> NothingLost(storage::Reader& reader);

  engine::FakeRuntime& runtime_;
  std::map<std::string, std::string> accepted_;     // uid -> project/name
  std::map<std::string, std::string> uid_of_base_;  // "job-3-9f3a1c" -> workload uid
  std::map<std::string, std::map<std::string, Quantity>> last_used_, last_hard_;  // by binding
  std::vector<std::string> violations_;
  std::set<std::string> said_;
};

}  // namespace cubeplane::sim
