// Killed processes and full disks.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <set>

#include "storage/sqlite/sqlite.h"
#include "storage/testing/loop_thread.h"
#include "storage/testing/mounted_folder.h"
#include "storage/testing/temp_folder.h"

namespace cubeplane::storage {
namespace {

using testing::LoopThread;
using testing::MountedFolder;
using testing::TempFolder;

std::string NameOf(int number) { return "o" + std::to_string(number); }

std::function<Result<void>(Txn&)> Putting(const std::string& name, const std::string& json) {
  return [name, json](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutObject({"Notebook", "uid-" + name, "nlp", name, 0, json}));
    return txn.AppendAudit({0, Time(), "ann", "create", name, "", "", "", "", ""});
  };
}

// Writes the number of a store's object to `fd` once the store has answered, again and again.
async::Task<bool> Submit(Store& store, int first, int step, int fd) {
  for (int number = first;; number += step) {
    std::function<Result<void>(Txn&)> change = Putting(NameOf(number), std::string(500, 'x'));
    Result<void> answer = co_await store.Write(std::move(change));
    const std::string line = std::to_string(number) + "\n";
    if (!answer || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) co_return false;
  }
}

[[noreturn]] void SubmitUntilKilled(const std::string& path, int first, int fd) {
  constexpr int kSubmitters = 50;
  LoopThread thread;
  auto store = thread.Call([&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = path}); });
  if (!store) _exit(1);
  std::vector<std::future<bool>> running;
  for (int i = 0; i < kSubmitters; ++i)
    running.push_back(thread.Start(Submit(**store, first + i, kSubmitters, fd)));
  running.front().wait();
  _exit(2);
}

TEST(SqliteFault, EveryAnsweredWriteSurvivesAKill) {
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  std::set<int> answered;
  for (int round = 0; round < 5; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    const pid_t child = fork();
    if (child == 0) SubmitUntilKilled(path, round * 1'000'000, pipe_fds[1]);
    close(pipe_fds[1]);
    // Killed after another number of answers each time, so in the middle of some commit.
    std::string text;
    char buffer[512];
    const auto enough = static_cast<size_t>(150 + round * 377);
    bool killed = false;
    for (ssize_t size; (size = read(pipe_fds[0], buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(size));
      if (!killed && text.size() > enough * 4) {
        kill(child, SIGKILL);
        killed = true;
      }
    }
    close(pipe_fds[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      int number = 0;
      std::from_chars(text.data() + at, text.data() + end, number);
      answered.insert(number);
    }
  }
  ASSERT_GT(answered.size(), 500u);
  LoopThread thread;
  auto store = thread.Call([&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = path}); });
  ASSERT_TRUE(store) << store.error().message;
  const auto done = thread.Run((*store)->Read([&answered](Reader& reader) -> Result<void> {
    for (const int number : answered) {
      ASSIGN_OR_RETURN(const auto row, reader.GetObject("Notebook", "nlp", NameOf(number)));
      if (!row) return Fail(Code::kInternal, NameOf(number) + " was answered and is lost");
    }
    return {};
  }));
  EXPECT_TRUE(done) << done.error().message;
  thread.Call([&] { store->reset(); });
}

TEST(SqliteFault, AFullDiskRefusesTheWholeGroupAndRecoversByItself) {
  MountedFolder folder("size=2m");
  ASSERT_EQ(folder.problem(), "");
  const std::string ballast = folder.path() + "/ballast";
  LoopThread thread;
  auto store = thread.Call(
      [&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = folder.path() + "/ledger.db"}); });
  ASSERT_TRUE(store) << store.error().message;
  auto put = [&](const std::string& name) {
    return thread.Run((*store)->Write(Putting(name, std::string(20'000, 'x'))));
  };
  ASSERT_TRUE(put("before"));
  {
    std::ofstream fill(ballast, std::ios::binary);
    fill << std::string(1'000'000, 'x') << std::flush;
  }
  Result<void> full;
  int saved = 0;
  for (int i = 0; i < 500 && full; ++i) {
    full = put("fill" + std::to_string(i));
    if (full) ++saved;
  }
  ASSERT_FALSE(full) << "the disk did not become full";
  EXPECT_EQ(full.error().code, Code::kStoreFull);
  EXPECT_EQ(full.error().reason, "store_full");
  EXPECT_NE(full.error().message.find("the disk is full"), std::string::npos) << full.error().message;
  EXPECT_TRUE(thread.Call([&] { return (*store)->Trouble().has_value(); }));
  // All of a group are refused, also one that would fit by itself.
  auto together = thread.Call([&] {
    std::vector<std::future<Result<void>>> futures;
    for (int i = 0; i < 20; ++i) {
      futures.push_back(
          thread.Start((*store)->Write(Putting("group" + std::to_string(i), std::string(200'000, 'x')))));
    }
    return futures;
  });
  std::set<std::string> expected{"before"};
  for (int i = 0; i < saved; ++i) expected.insert("fill" + std::to_string(i));
  for (int i = 0; i < 20; ++i) {
    const auto answer = together[static_cast<size_t>(i)].get();
    if (answer) expected.insert("group" + std::to_string(i));
  }
  std::filesystem::remove(ballast);
  const auto after = put("after");
  ASSERT_TRUE(after) << after.error().message;
  expected.insert("after");
  EXPECT_FALSE(thread.Call([&] { return (*store)->Trouble().has_value(); }));
  thread.Call([&] { store->reset(); });
  store = thread.Call(
      [&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = folder.path() + "/ledger.db"}); });
  ASSERT_TRUE(store) << store.error().message;
  std::set<std::string> found;
  ASSERT_TRUE(thread.Run((*store)->Read([&found](Reader& reader) -> Result<void> {
    ASSIGN_OR_RETURN(const auto rows, reader.ListObjects("", "", 10'000, ""));
    for (const ObjectRow& row : rows) found.insert(row.name);
    return {};
  })));
  EXPECT_EQ(found, expected);
  thread.Call([&] { store->reset(); });
}

// Commits in a write-ahead log: its frames with a size of the database in the second word end one (SQLite's
// file format, 4.1).
size_t CommitsInLog(const std::string& path) {
  constexpr size_t kHeader = 32, kFrameHeader = 24;
  std::ifstream file(path, std::ios::binary);
  const std::string log((std::istreambuf_iterator<char>(file)), {});
  const auto word = [&log](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(log[at + i]);
    return value;
  };
  size_t commits = 0;
  if (log.size() < kHeader) return 0;
  const size_t page = word(8);
  for (size_t at = kHeader; at + kFrameHeader + page <= log.size(); at += kFrameHeader + page) {
    if (word(at + 4) != 0 && log.compare(at + 8, 8, log, 16, 8) == 0) ++commits;
  }
  return commits;
}

// Sixty requests that come while one is being written share one commit, and so one sync.
TEST(SqliteFault, ManyWritesShareOneCommit) {
  constexpr int kMany = 60;
  TempFolder folder;
  const std::string path = folder.File("ledger.db");
  LoopThread thread;
  auto store = thread.Call([&] { return OpenSqlite(thread.loop(), thread.clock(), {.path = path}); });
  ASSERT_TRUE(store);
  ASSERT_TRUE(thread.Run((*store)->Write(Putting("first", "{}"))));
  const size_t before = CommitsInLog(path + "-wal");
  ASSERT_GT(before, 0u);
  std::promise<void> entered, leave;
  auto gate = std::make_shared<std::shared_future<void>>(leave.get_future());
  auto busy = thread.Start((*store)->Write([&entered, gate](Txn&) -> Result<void> {
    entered.set_value();
    gate->wait();
    return {};
  }));
  entered.get_future().wait();
  std::vector<std::future<Result<void>>> waiting;
  for (int i = 0; i < kMany; ++i) waiting.push_back(thread.Start((*store)->Write(Putting(NameOf(i), "{}"))));
  // All have been queued once the loop has got this far.
  thread.Call([] {});
  leave.set_value();
  EXPECT_TRUE(busy.get());
  for (auto& answer : waiting) EXPECT_TRUE(answer.get());
  const size_t commits = CommitsInLog(path + "-wal") - before;
  EXPECT_GE(commits, 1u);
  EXPECT_LE(commits, 3u);
  thread.Call([&] { store->reset(); });
}

// What waits in the queue while the writer is busy is answered with kTooMany beyond the bound, and all else
// is done.
TEST(SqliteFault, TheQueueIsBoundedWhileTheWriterIsBusy) {
  TempFolder folder;
  LoopThread thread;
  auto store = thread.Call([&] {
    return OpenSqlite(thread.loop(), thread.clock(), {.path = folder.File("ledger.db"), .max_waiting = 3});
  });
  ASSERT_TRUE(store);
  std::promise<void> entered, leave;
  auto gate = std::make_shared<std::shared_future<void>>(leave.get_future());
  auto busy = thread.Start((*store)->Write([&entered, gate](Txn&) -> Result<void> {
    entered.set_value();
    gate->wait();
    return {};
  }));
  entered.get_future().wait();
  std::vector<std::future<Result<void>>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(thread.Start((*store)->Write(Putting(NameOf(i), "{}"))));
  EXPECT_EQ(waiting[3].get().error().code, Code::kTooMany);
  EXPECT_EQ(waiting[4].get().error().code, Code::kTooMany);
  leave.set_value();
  EXPECT_TRUE(busy.get());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(waiting[static_cast<size_t>(i)].get());
  thread.Call([&] { store->reset(); });
}

}  // namespace
}  // namespace cubeplane::storage
