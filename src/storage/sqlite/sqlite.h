// The store on SQLite: one file, a write-ahead log synced at each commit, one writer thread with group
// commit, and a pool of readers.
#pragma once

#include <memory>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "base/result.h"
#include "storage/store.h"

namespace cubeplane::storage {

struct SqliteOptions {
  std::string path;  // ":memory:" only with `inline_mode`
  bool inline_mode =
      false;  // no threads: functions run on the executor, in a turn of their own (simulation, tests)
  size_t max_waiting = 4096;   // writes and, apart, reads that may wait; further ones get kTooMany
  size_t max_group = 256;      // writes of one commit
  size_t readers = 2;          // reading threads
  int64_t feed_kept = 20'000;  // events of the change feed; older ones are kGone
};

// Opens the database, or makes it in a folder that is there, and brings its schema up to date (after a copy).
// Blocks. Refuses with one sentence: a network file system, a database in use by another cubeplane, one of
// another program, a newer or changed schema, damage, a read-only file system. `executor` and `clock` must
// live longer than the store. The store's destructor finishes the writes that wait; their callers are told by
// the executor, if it still runs.
Result<std::unique_ptr<Store>> OpenSqlite(async::Executor& executor, const Clock& clock,
                                          SqliteOptions options);

}  // namespace cubeplane::storage
