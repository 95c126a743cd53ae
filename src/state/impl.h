// What the ledger's parts share. Private to this folder.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "state/answers.h"
#include "state/ledger.h"
#include "state/quota.h"
#include "state/rows.h"
#include "state/view.h"

namespace cubeplane::state {

struct Ledger::Impl {
  Impl(storage::Store& store, const Clock& clock, Random& random, Settings settings)
      : store(store),
        clock(clock),
        random(random),
        settings(std::move(settings)),
        wall_start(clock.Now()),
        mono_start(clock.MonoNow()) {}

  // Wall time that a clock step while we run does not move: retention is counted on it.
  Time SteadyNow() const { return wall_start + (clock.MonoNow() - mono_start); }
  Conditions ConditionsNow() const;
  // Notes that the cluster refused it: it is not tried again before a back-off.
  void Hold(const std::string& uid);
  // Something of the project was given back: its refused ones are tried again at once.
  void FreeHolds(const std::string& project);

  storage::Store& store;
  const Clock& clock;
  Random& random;
  Settings settings;
  View view;
  const Time wall_start;
  const Mono mono_start;
  struct Held {
    Mono until;
    int times = 0;
  };
  std::map<std::string, Held> held;  // by uid; lost at a restart, which tries everything once
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

// The part of Impl that a decision carries into its transaction.
struct Decision {
  Call call;
  Conditions conditions;
  Time steady_now;
  Duration idempotency_retention, name_retention;
  size_t max_waiting = 0;

  static Decision Of(const Ledger::Settings& settings, Call call, Conditions conditions, Time steady_now) {
    return {
        std::move(call),         std::move(conditions),           steady_now, settings.idempotency_retention,
        settings.name_retention, settings.max_waiting_per_project};
  }
  Result<std::optional<storage::IdempotencyRow>> Earlier(storage::Reader& reader) const {
    return EarlierAnswer(reader, call, steady_now, idempotency_retention);
  }
  Result<void> Keep(storage::Txn& txn, int status, const std::string& answer, const std::string& uid) const {
    return KeepAnswer(txn, call, steady_now, idempotency_retention, status, answer, uid);
  }
};

// Ends something that runs nowhere: it waits, or was admitted and never sent. No-op for what has ended.
Result<void> EndAtOnceOrStop(storage::Txn& txn, WorkloadRecord& record, const std::string& user, Time now);

}  // namespace cubeplane::state
