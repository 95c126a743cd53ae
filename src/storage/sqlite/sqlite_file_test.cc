// Which databases are refused, and with what sentence.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "storage/audit.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/guard.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/sqlite.h"
#include "storage/testing/loop_thread.h"
#include "storage/testing/mounted_folder.h"
#include "storage/testing/temp_folder.h"

namespace cubeplane::storage {
namespace {

using testing::LoopThread;
using testing::MountedFolder;
using testing::TempFolder;

Result<std::unique_ptr<Store>> Open(LoopThread& thread, const std::string& path) {
  return thread.Call([&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = path}); });
}

// The sentence of a refusal; "" when it opened.
std::string Refusal(const std::string& path) {
  LoopThread thread;
  auto store = Open(thread, path);
  if (store) thread.Call([&] { store->reset(); });
  return store ? "" : store.error().message;
}

void Sql(const std::string& path, const char* sql) {
  auto db = sqlite::Connection::Open(path);
  ASSERT_TRUE(db) << db.error().message;
  const auto done = (*db)->Execute(sql);
  ASSERT_TRUE(done) << done.error().message;
}

TEST(SqliteFile, IsMadeForItsOwnerOnly) {
  TempFolder folder;
  EXPECT_EQ(Refusal(folder.File("ledger.db")), "");
  EXPECT_EQ(std::filesystem::status(folder.File("ledger.db")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(Refusal(folder.File("ledger.db")), "");
}

TEST(SqliteFile, AFolderThatIsNotThereIsSaid) {
  TempFolder folder;
  EXPECT_EQ(Refusal(folder.File("none/ledger.db")),
            "the folder " + folder.File("none") + ": No such file or directory");
}

TEST(SqliteFile, AnotherProgramsDatabaseIsLeftAsItIs) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  Sql(path, "CREATE TABLE theirs (a)");
  EXPECT_EQ(Refusal(path), path + " is a database of another program, not a ledger of cubeplane");
  Sql(path, "INSERT INTO theirs VALUES (1)");
  auto db = sqlite::Connection::Open(path);
  sqlite::Query mode(**db, "PRAGMA journal_mode");
  ASSERT_TRUE(mode.Step());
  EXPECT_EQ(mode.Text(0), "delete");
}

TEST(SqliteFile, ANewerSchemaIsRefused) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  ASSERT_EQ(Refusal(path), "");
  Sql(path, "PRAGMA user_version=99");
  EXPECT_TRUE(Refusal(path).starts_with(path + " has schema 99, and this cubeplane knows schemas up to "));
}

TEST(SqliteFile, AChangedMigrationIsRefused) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  ASSERT_EQ(Refusal(path), "");
  Sql(path, "UPDATE migrations SET sha256 = 'other' WHERE number = 1");
  EXPECT_EQ(Refusal(path),
            path +
                " was made with another text of migration 0001_core than this cubeplane has; run the "
                "version that made it");
}

TEST(SqliteFile, ADamagedFileIsRefused) {
  TempFolder folder;
  const std::string text = folder.File("text.db"), cut = folder.File("cut.db");
  std::ofstream(text) << std::string(8192, 'x');
  EXPECT_EQ(Refusal(text), text + " is damaged or no database: restore it from a backup");
  ASSERT_EQ(Refusal(cut), "");
  std::fstream file(cut, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(3 * 4096);
  file << std::string(3 * 4096, '\x7f');
  file.close();
  EXPECT_EQ(Refusal(cut), cut + " is damaged or no database: restore it from a backup");
}

TEST(SqliteFile, TwoAtATimeAreRefusedWithTheHoldersProcess) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    LoopThread thread;
    auto store = Open(thread, path);
    char byte = store ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_EQ(Refusal(path), path + " is in use by another cubeplane (process " + std::to_string(child) + ")");
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(Refusal(path), "");
}

TEST(SqliteFile, AReadOnlyFileSystemIsSaid) {
  MountedFolder folder("size=4m");
  ASSERT_EQ(folder.problem(), "");
  const std::string path = folder.path() + "/ledger.db";
  ASSERT_EQ(Refusal(path), "");
  ASSERT_EQ(mount("", folder.path().c_str(), "", MS_REMOUNT | MS_RDONLY, ""), 0);
  EXPECT_NE(Refusal(path).find("Read-only file system"), std::string::npos) << Refusal(path);
}

TEST(SqliteFile, NetworkFileSystemsAreKnown) {
  EXPECT_EQ(sqlite::NetworkFileSystem(0x6969), "NFS");
  EXPECT_EQ(sqlite::NetworkFileSystem(static_cast<int>(0xFF534D42)), "CIFS");  // as 32-bit platforms give it
  EXPECT_EQ(sqlite::NetworkFileSystem(0x01021997), "9p");
  EXPECT_EQ(sqlite::NetworkFileSystem(0x65735546), "FUSE");
  EXPECT_EQ(sqlite::NetworkFileSystem(0xEF53), "");      // ext4
  EXPECT_EQ(sqlite::NetworkFileSystem(0x01021994), "");  // tmpfs
}

TEST(SqliteFile, AnUpgradeCopiesFirstAndIsAllOrNothing) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  SystemClock clock;
  const std::vector<sqlite::Migration> first{{1, "0001_a", "CREATE TABLE a (x); INSERT INTO a VALUES (7);"}};
  auto second = first;
  second.push_back({2, "0002_b", "CREATE TABLE b (y); DELETE FROM a;"});
  auto broken = second;
  broken[1].sql += "INSERT INTO nowhere VALUES (1);";
  auto count = [](sqlite::Connection& db) {
    sqlite::Query query(db, "SELECT count(*) FROM a");
    EXPECT_TRUE(query.Step());
    return query.Int(0);
  };
  auto db = sqlite::Connection::Open(path);
  ASSERT_TRUE(sqlite::Migrate(**db, path, first, clock));
  ASSERT_FALSE(sqlite::Migrate(**db, path, broken, clock));
  EXPECT_EQ(count(**db), 1);
  const auto done = sqlite::Migrate(**db, path, second, clock);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(count(**db), 0);
  auto copy = sqlite::Connection::Open(path + ".before-2");
  EXPECT_EQ(count(**copy), 1);
  EXPECT_TRUE(sqlite::Migrate(**copy, path + ".before-2", first, clock));
}

TEST(SqliteFile, ATamperedAuditRecordIsNamed) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  auto verify = [&path] {
    LoopThread thread;
    auto store = Open(thread, path);
    AuditCheck check;
    auto done = thread.Run((*store)->Write([&check](Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(const int64_t last, txn.LastSeq());
      static_cast<void>(last);
      ASSIGN_OR_RETURN(const auto rows, txn.Audit(0, 1));
      for (int i = 0; rows.empty() && i < 5; ++i) {
        RETURN_IF_ERROR(txn.AppendAudit({0, Time(), "ann", "create", std::to_string(i), "", "", "", "", ""}));
      }
      ASSIGN_OR_RETURN(check, VerifyAudit(txn));
      return {};
    }));
    EXPECT_TRUE(done);
    thread.Call([&] { store->reset(); });
    return check;
  };
  EXPECT_FALSE(verify().first_broken);
  Sql(path, "UPDATE audit SET principal = 'bob' WHERE seq = 3");
  EXPECT_EQ(verify().problem, "audit record 3 was changed");
  Sql(path, "UPDATE audit SET principal = 'ann' WHERE seq = 3; DELETE FROM audit WHERE seq = 2");
  EXPECT_EQ(verify().problem, "audit record 2 is missing");
}

}  // namespace
}  // namespace cubeplane::storage
