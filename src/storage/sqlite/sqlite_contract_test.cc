#include "storage/sqlite/sqlite.h"
#include "storage/testing/store_contract.h"
#include "storage/testing/temp_folder.h"

namespace cubeplane::storage::testing {
namespace {

template <bool kInline>
struct OnFile {
  Result<std::unique_ptr<Store>> Open(async::Executor& executor, const Clock& clock, StoreLimits limits) {
    return OpenSqlite(executor, clock,
                      {.path = folder.File("ledger.db"),
                       .inline_mode = kInline,
                       .max_waiting = limits.max_waiting,
                       .feed_kept = limits.feed_kept});
  }
  TempFolder folder;
};

using Factories = ::testing::Types<OnFile<false>, OnFile<true>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, Factories);

}  // namespace
}  // namespace cubeplane::storage::testing
