// Group commit: runs the functions that wait in one transaction, each in a savepoint.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace cubeplane::storage::sqlite {

using Change = std::function<Result<void>(Txn&)>;

struct GroupResult {
  std::vector<Result<void>> answers;  // one per change
  std::vector<FeedEvent> events;      // committed, in order
  std::optional<Error> trouble;       // set: nothing of the group was saved
};

// Blocks until the commit is on disk. When the medium fails at any step, every answer is that kStoreFull:
// also a change that failed by itself may have seen what another of the group had written.
GroupResult RunGroup(Connection& db, const std::vector<Change>& changes, int64_t feed_kept, Time now);

}  // namespace cubeplane::storage::sqlite
