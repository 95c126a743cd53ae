// The numbered migrations that this binary knows, and how a database is brought up to them.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "storage/sqlite/connection.h"

namespace cubeplane::storage::sqlite {

struct Migration {
  int number = 0;    // from 1, without gaps
  std::string name;  // "0001_core"
  std::string sql;
};

// What storage/migrations/ holds.
const std::vector<Migration>& Migrations();

// "CPLG" in the file's header: the database is a cubeplane ledger.
inline constexpr int64_t kApplicationId = 0x43504C47;

// Brings the database up to the last of `migrations`, each in one transaction with its SHA-256 written down.
// A database with data is first copied to "<path>.before-<number>". Refuses, each with one sentence that
// names `path`: a file of another program, a schema newer than `migrations`, a migration whose text has
// changed since it was applied. Blocks.
Result<void> Migrate(Connection& db, const std::string& path, const std::vector<Migration>& migrations,
                     const Clock& clock);

}  // namespace cubeplane::storage::sqlite
