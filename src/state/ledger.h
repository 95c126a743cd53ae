// The ledger: every change of quota, workloads and reservations goes through here, decided by
// scheduler/admission and committed to the store. It also keeps the living objects in memory, as of the last
// commit.
//
// Threading: on the control thread; what it returns are values. Laws 1 and 2 are asserted inside its
// transactions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"
#include "storage/store.h"

namespace cubeplane::state {

// Who asks, and how the answer is remembered.
struct Call {
  std::string user;
  std::string request_id;
  bool dry_run = false;  // decide and answer, commit nothing
  // With a key: the same key again gives the first answer (24 h), with another body kInvalid.
  std::string idempotency_key, method, path, body_sha256;
};

// A change's answer: the object, and whether it was replayed from the idempotency table.
template <class T>
struct Changed {
  T object;
  bool created = false;
  bool replayed = false;
  bool unchanged = false;
};

using ProjectPtr = std::shared_ptr<const model::Project>;
using WorkloadPtr = std::shared_ptr<const model::Workload>;

struct WorkloadKey {
  model::WorkloadKind kind;
  std::string project, name;
  auto operator<=>(const WorkloadKey&) const = default;
};

// What a binding has: the quota and what is reserved of it, by quota key ("requests.cpu").
struct BindingUse {
  std::string project, cluster;
  model::Binding binding;
  model::ResourceList used;
};

struct WatchEvent {
  int64_t seq = 0;
  bool deleted = false;
  std::string kind, uid, project, name;
  json::Value object;  // as the API serves it
};

class Ledger {
 public:
  struct Settings {
    size_t max_waiting_per_project = 1000;  // accepted and waiting; further ones are refused (kTooMany)
    Duration idempotency_retention = std::chrono::hours(24);
    Duration name_retention = std::chrono::hours(24 * 30);
    Duration long_wait = std::chrono::minutes(10);  // a wait beyond it is shown as long
    // Resources no cluster can ever give ("never fits"); absent: not known yet. Set by the cluster view.
    std::map<std::string, std::vector<model::ResourceList>> node_allocatable;  // cluster -> per node
  };
  Ledger(storage::Store& store, const Clock& clock, Random& random, Settings settings);
  ~Ledger();

  // Reads everything into memory. Call once, before anything else.
  async::Task<Result<void>> Load();

  // ---- Reading: the state of the last commit
  ProjectPtr FindProject(std::string_view name) const;
  std::vector<ProjectPtr> Projects() const;
  WorkloadPtr Find(const WorkloadKey& key) const;
  WorkloadPtr FindByUid(std::string_view uid) const;
  std::vector<WorkloadPtr> Workloads(std::string_view project = {}) const;  // empty: all; by arrival
  std::vector<BindingUse> Bindings(std::string_view project = {}) const;
  int64_t version() const;  // feed number of the last commit seen
  // Calls back with each committed change, in order, on the control thread.
  size_t OnChange(std::function<void(const WatchEvent&)> listener);
  void RemoveListener(size_t id);
  // Events after `version` from memory or store; kGone when they are no longer kept.
  async::Task<Result<std::vector<WatchEvent>>> EventsAfter(int64_t version, size_t limit);

  // ---- Changes by people (validated and defaulted here; audit and idempotency in the same commit)
  // ------------------ Creates or replaces the spec. `expected_version`: kConflict unless it is the present
  // one. Shrinking a quota below its use is allowed: it stops admission only.
  async::Task<Result<Changed<model::Project>>> ApplyProject(Call call, model::Project project,
                                                            std::optional<int64_t> expected_version);
  // kConflict while it has workloads.
  async::Task<Result<void>> DeleteProject(Call call, std::string name);
  // Accepts; a Notebook (not `queue`) is admitted in the same commit or refused with kQuotaExceeded; others
  // wait. kAlreadyExists when a living one has the name; kForbidden when the name is kept for another owner.
  async::Task<Result<Changed<model::Workload>>> CreateWorkload(Call call, model::Workload workload);
  // Labels and annotations may change, and nothing else while it lives (kInvalid names the field).
  async::Task<Result<Changed<model::Workload>>> UpdateWorkload(Call call, model::Workload workload,
                                                               std::optional<int64_t> expected_version);
  async::Task<Result<model::Workload>> StopWorkload(Call call, WorkloadKey key);
  // Notebook only: back into admission (refused as at creation).
  async::Task<Result<model::Workload>> StartWorkload(Call call, WorkloadKey key);
  // Marks it deleted; it goes once its work has ended (Forget).
  async::Task<Result<model::Workload>> DeleteWorkload(Call call, WorkloadKey key);
  // An audit record alone: sign-ins, tokens, opened links.
  async::Task<Result<void>> Audit(Call call, std::string action, std::string object, json::Value after);

  // ---- Steps of the controllers
  // ------------------------------------------------------------------------------------ One pass over all
  // queues: admits what fits, in order, and refreshes places and reasons of what waits. Gives the admitted.
  async::Task<Result<std::vector<WorkloadPtr>>> AdmitWaiting();
  // Before the first byte goes to the cluster. False when the mark was there already (after a crash): look
  // before creating.
  async::Task<Result<bool>> MarkSent(std::string uid, int32_t attempt, std::string cluster_identity,
                                     std::string namespace_uid);
  // Changes of the status that free nothing: phase (not terminal), times, node, address, reason, restarts,
  // conditions. `update` runs on a copy; nothing is committed when it changes nothing. Ignored for terminal
  // workloads.
  async::Task<Result<void>> UpdateStatus(std::string uid, std::function<void(model::WorkloadStatus&)> update);
  async::Task<Result<void>> UpdateProjectStatus(std::string name,
                                                std::function<void(model::ProjectStatus&)> update);
  // The attempt has ended, with proof: releases its reservation exactly once and sets the terminal phase, or,
  // when retries are left and `retry`, puts the workload back in its place with the next attempt number.
  struct End {
    model::Phase phase = model::Phase::kFailed;
    model::Reason reason;
    std::string proof;
    std::optional<int32_t> exit_code;
    std::string result;
    Time at;
    bool retry = false;
    // It never began (a lost send): another attempt follows whatever the retries, and this one does not count
    // as one.
    bool never_began = false;
  };
  async::Task<Result<void>> EndAttempt(std::string uid, int32_t attempt, End end);
  // The cluster refused the objects of a sent attempt and has none of them: reservation released, place in
  // the queue kept, same attempt number again (decision 12).
  async::Task<Result<void>> ClusterRefused(std::string uid, int32_t attempt, model::Reason reason);
  // A deleted workload whose work has ended: removes the object; ledger, audit and log stay.
  async::Task<Result<void>> Forget(std::string uid);
  async::Task<Result<void>> KeepLog(storage::KeptLog log);

  Settings& settings();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cubeplane::state
