#include "storage/sqlite/writer.h"

#include "storage/sqlite/txn.h"

namespace cubeplane::storage::sqlite {
namespace {

// One change in its savepoint: its own failure takes back its own rows and events only.
Result<void> RunOne(Connection& db, SqliteTxn& txn, const Change& change) {
  const size_t told = txn.events().size();
  RETURN_IF_ERROR(db.Execute("SAVEPOINT change"));
  Result<void> answer = change(txn);
  if (db.trouble()) return Fail(*db.trouble());
  if (!answer) {
    txn.events().resize(told);
    RETURN_IF_ERROR(db.Execute("ROLLBACK TO change"));
  }
  RETURN_IF_ERROR(db.Execute("RELEASE change"));
  return answer;
}

Error WholeGroupFailed(Connection& db, const Error& last) {
  Error error = db.trouble().value_or(last);
  error.code = Code::kStoreFull;
  error.reason = "store_full";
  return error;
}

}  // namespace

GroupResult RunGroup(Connection& db, const std::vector<Change>& changes, int64_t feed_kept, Time now) {
  GroupResult group;
  db.ClearTrouble();
  SqliteTxn txn(db, feed_kept, now);
  Result<void> state = db.Execute("BEGIN IMMEDIATE");
  for (const Change& change : changes) {
    if (!state) break;
    group.answers.push_back(RunOne(db, txn, change));
    if (db.trouble() || !db.in_transaction())
      state = Fail(Code::kStoreFull, "store: the transaction was lost");
  }
  if (state) state = db.Execute("COMMIT");
  if (state) {
    group.events = std::move(txn.events());
    return group;
  }
  group.trouble = WholeGroupFailed(db, state.error());
  // Fails only when SQLite has rolled back by itself, which is what we want.
  if (db.in_transaction()) static_cast<void>(db.Execute("ROLLBACK"));
  group.answers.assign(changes.size(), Fail(*group.trouble));
  return group;
}

}  // namespace cubeplane::storage::sqlite
