// One change by a person, around its decision: the answer of an earlier call with the same key, the audit
// record, and the key's row, all in the change's own transaction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/task.h"
#include "base/result.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::state {

// The first answer of this key, when there is one. kInvalid (`idempotency_mismatch`) when the key came with
// another method, path or body; kConflict (`answer_not_kept`) when the answer held a secret. Dry runs have no
// key.
Result<std::optional<storage::IdempotencyRow>> EarlierAnswer(storage::Reader& reader, const Call& call,
                                                             Time now, Duration retention);
Result<void> KeepAnswer(storage::Txn& txn, const Call& call, Time now, Duration retention, int status,
                        const std::string& answer, const std::string& object_uid);

// An audit record of `call`; `before` and `after` are compact JSON or "".
Result<void> Record(storage::Txn& txn, const Call& call, Time now, std::string action, std::string object,
                    std::string before, std::string after);
// What cubeplane does by itself.
Result<void> RecordOwn(storage::Txn& txn, Time now, std::string action, std::string object,
                       std::string after);

// Runs `decide` in a transaction and gives its value once it is committed; with `dry_run` the value of a
// decision whose transaction is taken back.
template <class T>
async::Task<Result<T>> Commit(storage::Store& store, bool dry_run,
                              std::function<Result<T>(storage::Txn&)> decide) {
  auto value = std::make_shared<std::optional<T>>();
  std::function<Result<void>(storage::Txn&)> change =
      [value, dry_run, decide = std::move(decide)](storage::Txn& txn) -> Result<void> {
    value->reset();
    Result<T> decided = decide(txn);
    if (!decided) return Fail(decided.error());
    value->emplace(std::move(*decided));
    if (dry_run) return Fail(Code::kCancelled, "dry run");
    return {};
  };
  Result<void> done = co_await store.Write(std::move(change));
  if (!done && !(dry_run && done.error().code == Code::kCancelled)) co_return Fail(done.error());
  co_return std::move(**value);
}

}  // namespace cubeplane::state
