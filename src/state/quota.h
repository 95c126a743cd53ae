// Admission inside a transaction: what a binding has, whether a workload fits, and the rows of a reservation.
// The decision itself is scheduler's; laws 1 and 2 are asserted here, on rows read anew, whatever was
// decided.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/objects.h"
#include "scheduler/admission.h"
#include "scheduler/queue.h"
#include "state/rows.h"
#include "storage/store.h"

namespace cubeplane::state {

using NodeSizes = std::map<std::string, std::vector<model::ResourceList>>;  // cluster -> allocatable per node

// What a decision needs beside the rows. Copied into the transaction.
struct Conditions {
  Time now;
  NodeSizes nodes;
  std::set<std::string> held;  // uids that keep their place and are not tried now
  Duration long_wait = std::chrono::minutes(10);
};

// A binding as the rows say it, with the sums of its living reservations. kInternal when a sum overflows.
struct OpenBinding {
  storage::BindingRow row;
  model::Binding binding;
  scheduler::BindingView view;
};
Result<std::vector<OpenBinding>> OpenBindings(storage::Reader& reader, const std::string& project,
                                              const NodeSizes& nodes);

// The project's line: what waits, by arrival.
struct Line {
  std::vector<OpenBinding> bindings;
  std::vector<WorkloadRecord> waiting;
  scheduler::ProjectQueue queue;                // of the two above
  std::map<std::string, model::Reason> barred;  // by uid: a limit range that came later forbids it
};
// Whom to read: nobody, those that a new notebook has ahead of it, or all.
enum class Whom { kNobody, kNotebooks, kAll };
Result<Line> OpenLine(storage::Reader& reader, const std::string& project, const Conditions& conditions,
                      Whom whom);

// Puts a workload at the end of the line. The error of its limit range or of an overflow.
Result<void> JoinLine(Line& line, WorkloadRecord record, const Conditions& conditions);

// Carries out the plan for the whole line: reserves what is admitted and refreshes places and reasons of what
// waits, saving what changed. Gives the admitted.
Result<std::vector<model::Workload>> AdvanceLine(storage::Txn& txn, Line& line, const Conditions& conditions);

// Refuses what can never be admitted in any binding as the limits stand: kQuotaExceeded with the first
// binding's figures, kForbidden by a limit range, kInvalid without a binding.
Result<void> CheckEverFits(const Line& line, const model::Workload& workload);
// Why the last in the line is not admitted now: kQuotaExceeded in Kubernetes' words.
Error RefusalOfLast(const Line& line);

// Releases what the attempt holds; gives how many rows changed, 0 when it was released before.
Result<int> ReleaseAttempt(storage::Txn& txn, WorkloadRecord& record, int32_t attempt);

}  // namespace cubeplane::state
