#include "storage/sqlite/migrations.h"

#include <unistd.h>

#include "base/strings.h"
#include "storage/audit.h"
#include "storage/sqlite/guard.h"

namespace cubeplane::storage::sqlite {
namespace {

struct Found {
  int64_t application_id = 0;
  int64_t schema = 0;
  bool empty = false;  // no table at all
};

Result<int64_t> Number(Connection& db, const char* sql) {
  Query query(db, sql);
  ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.Int(0) : 0;
}

Result<Found> Look(Connection& db) {
  Found found;
  ASSIGN_OR_RETURN(found.application_id, Number(db, "PRAGMA application_id"));
  ASSIGN_OR_RETURN(found.schema, Number(db, "PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables, Number(db, "SELECT count(*) FROM sqlite_master"));
  found.empty = tables == 0 && found.schema == 0 && found.application_id == 0;
  return found;
}

Result<void> CheckApplied(Connection& db, const std::string& path, const std::vector<Migration>& migrations) {
  Query query(db, "SELECT number, name, sha256 FROM migrations ORDER BY number");
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return {};
    const auto number = query.Int(0);
    if (number < 1 || number > static_cast<int64_t>(migrations.size())) continue;
    const Migration& known = migrations[static_cast<size_t>(number - 1)];
    if (Sha256Hex(known.sql) == query.Text(2)) continue;
    return Fail(Code::kInvalid, path + " was made with another text of migration " + query.Text(1) +
                                    " than this cubeplane has; run the version that made it");
  }
}

Result<void> Copy(Connection& db, const std::string& path, int64_t schema) {
  if (path == ":memory:") return {};
  const std::string copy = path + ".before-" + std::to_string(schema + 1);
  unlink(copy.c_str());  // left by an attempt that did not come to its end
  Query query(db, "VACUUM INTO ?1");
  query.Bind(copy);
  RETURN_IF_ERROR(query.Run());
  return SyncFolder(FolderOf(path));
}

Result<void> Apply(Connection& db, const Migration& migration, const Clock& clock) {
  RETURN_IF_ERROR(db.Execute(migration.sql.c_str()));
  Query note(db, "INSERT INTO migrations (number, name, sha256, applied) VALUES (?1, ?2, ?3, ?4)");
  note.Bind(migration.number, migration.name, Sha256Hex(migration.sql), clock.Now());
  RETURN_IF_ERROR(note.Run());
  return db.Execute(("PRAGMA user_version=" + std::to_string(migration.number)).c_str());
}

Result<void> ApplyAll(Connection& db, const Found& found, const std::vector<Migration>& migrations,
                      const Clock& clock) {
  if (found.empty) {
    RETURN_IF_ERROR(db.Execute(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str()));
    RETURN_IF_ERROR(db.Execute(
        "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, "
        "applied TEXT NOT NULL)"));
  }
  for (const Migration& migration : migrations) {
    if (migration.number <= found.schema) continue;
    if (auto applied = Apply(db, migration, clock); !applied)
      return Fail(applied.error().Wrap("migration " + migration.name));
  }
  return {};
}

}  // namespace

Result<void> Migrate(Connection& db, const std::string& path, const std::vector<Migration>& migrations,
                     const Clock& clock) {
  ASSIGN_OR_RETURN(const Found found, Look(db));
  const auto newest = static_cast<int64_t>(migrations.size());
  if (!found.empty) {
    if (found.application_id != kApplicationId)
      return Fail(Code::kInvalid, path + " is a database of another program, not a ledger of cubeplane");
    if (found.schema > newest)
      return Fail(Code::kInvalid,
                  path + " has schema " + std::to_string(found.schema) +
                      ", and this cubeplane knows schemas up to " + std::to_string(newest) +
                      "; run the newer cubeplane, or restore the copy made before the upgrade");
    RETURN_IF_ERROR(CheckApplied(db, path, migrations));
    if (found.schema == newest) return {};
    RETURN_IF_ERROR(Copy(db, path, found.schema));
  }
  // All in one transaction: a process that dies here leaves either the old schema or the new one.
  RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  auto applied = ApplyAll(db, found, migrations, clock);
  if (applied) applied = db.Execute("COMMIT");
  if (!applied && db.in_transaction()) {
    if (auto undone = db.Execute("ROLLBACK"); !undone) return Fail(applied.error().Wrap("rolling back"));
  }
  return applied;
}

}  // namespace cubeplane::storage::sqlite
