#include "storage/sqlite/sqlite.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "async/pool.h"
#include "async/sync.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/guard.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/txn.h"
#include "storage/sqlite/writer.h"

namespace cubeplane::storage {
namespace {

using sqlite::Change;
using sqlite::Connection;
using sqlite::GroupResult;
using Listener = std::function<void(const std::vector<FeedEvent>&)>;
using Done = async::OneShot<Result<void>>;

struct Request {
  Change change;
  Done done;
};

// What lives on the executor. Shared with callbacks on their way there, which may arrive after the store has
// gone.
struct Front {
  std::vector<Listener> listeners;
  std::optional<Error> trouble;

  void Deliver(GroupResult group, const std::vector<Done>& waiters) {
    trouble = group.trouble;
    if (!group.events.empty()) {
      for (const Listener& listener : listeners) listener(group.events);
    }
    for (size_t i = 0; i < waiters.size(); ++i) waiters[i].Set(std::move(group.answers[i]));
  }
};

class SqliteStore final : public Store {
 public:
  SqliteStore(async::Executor& executor, const Clock& clock, SqliteOptions options,
              std::optional<sqlite::FileLock> lock, std::unique_ptr<Connection> writer,
              std::vector<std::unique_ptr<Connection>> readers)
      : executor_(executor),
        clock_(clock),
        options_(std::move(options)),
        lock_(std::move(lock)),
        writer_(std::move(writer)),
        readers_(std::move(readers)),
        pool_(executor, readers_.size()) {
    if (!options_.inline_mode) thread_ = std::thread([this] { WriterMain(); });
  }

  ~SqliteStore() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      wake_.notify_all();
    }
    thread_.join();
  }

  async::Task<Result<void>> Write(std::function<Result<void>(Txn&)> change) override {
    Done done(executor_);
    const bool taken = Enqueue({std::move(change), done});
    if (!taken)
      co_return Fail(Code::kTooMany,
                     "store: " + std::to_string(options_.max_waiting) + " writes wait already");
    Result<void> answer = co_await done.Wait();
    co_return answer;
  }

  async::Task<Result<void>> Read(std::function<Result<void>(Reader&)> look) override {
    if (reading_ >= options_.max_waiting)
      co_return Fail(Code::kTooMany,
                     "store: " + std::to_string(options_.max_waiting) + " reads wait already");
    // Also counted down when this frame is destroyed while it waits.
    const auto counted = std::shared_ptr<size_t>(&(++reading_), [](size_t* count) { --*count; });
    std::function<Result<void>()> call = [this, look = std::move(look)] { return RunRead(look); };
    Result<void> answer = co_await pool_.Run(std::move(call));
    co_return answer;
  }

  void OnCommit(Listener listener) override { front_->listeners.push_back(std::move(listener)); }
  std::optional<Error> Trouble() const override { return front_->trouble; }

 private:
  bool Enqueue(Request request) {
    std::lock_guard lock(mutex_);
    if (queue_.size() >= options_.max_waiting) return false;
    queue_.push_back(std::move(request));
    if (options_.inline_mode) {
      PostTurn();
    } else {
      wake_.notify_one();
    }
    return true;
  }

  // One group in a turn of its own. With mutex_ held.
  void PostTurn() {
    if (turn_posted_) return;
    turn_posted_ = true;
    executor_.Post([this, alive = std::weak_ptr<Front>(front_)] {
      if (!alive.expired()) InlineTurn();
    });
  }

  void InlineTurn() {
    std::vector<Change> changes;
    std::vector<Done> waiters;
    TakeGroup(changes, waiters);
    {
      std::lock_guard lock(mutex_);
      turn_posted_ = false;
      if (!queue_.empty()) PostTurn();
    }
    GroupResult group = sqlite::RunGroup(*writer_, changes, options_.feed_kept, clock_.Now());
    front_->Deliver(std::move(group), waiters);
  }

  void WriterMain() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
      }
      std::vector<Change> changes;
      std::vector<Done> waiters;
      TakeGroup(changes, waiters);
      GroupResult group = sqlite::RunGroup(*writer_, changes, options_.feed_kept, clock_.Now());
      executor_.Post([front = front_, group = std::move(group), waiters = std::move(waiters)]() mutable {
        front->Deliver(std::move(group), waiters);
      });
    }
  }

  void TakeGroup(std::vector<Change>& changes, std::vector<Done>& waiters) {
    std::lock_guard lock(mutex_);
    while (!queue_.empty() && changes.size() < options_.max_group) {
      changes.push_back(std::move(queue_.front().change));
      waiters.push_back(std::move(queue_.front().done));
      queue_.pop_front();
    }
  }

  Result<void> RunRead(const std::function<Result<void>(Reader&)>& look) {
    if (options_.inline_mode) return ReadOn(*writer_, look);
    std::unique_ptr<Connection> db;
    {
      std::lock_guard lock(mutex_);
      db = std::move(readers_.back());
      readers_.pop_back();
    }
    Result<void> answer = ReadOn(*db, look);
    std::lock_guard lock(mutex_);
    readers_.push_back(std::move(db));
    return answer;
  }

  // One moment of the database, whatever the writer does meanwhile.
  Result<void> ReadOn(Connection& db, const std::function<Result<void>(Reader&)>& look) {
    db.ClearTrouble();
    Result<void> answer = db.Execute("BEGIN");
    if (answer) {
      sqlite::SqliteTxn txn(db, options_.feed_kept, clock_.Now());
      answer = look(txn);
    }
    if (db.in_transaction()) {
      const Result<void> ended = db.Execute("ROLLBACK");
      if (answer && !ended) answer = ended;
    }
    if (db.trouble()) return Fail(Code::kUnavailable, db.trouble()->message);
    return answer;
  }

  async::Executor& executor_;
  const Clock& clock_;
  const SqliteOptions options_;
  const std::optional<sqlite::FileLock> lock_;
  const std::unique_ptr<Connection> writer_;  // of the writer thread; inline: of the executor
  std::shared_ptr<Front> front_ = std::make_shared<Front>();
  size_t reading_ = 0;
  bool turn_posted_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::deque<Request> queue_;
  bool closed_ = false;
  std::vector<std::unique_ptr<Connection>> readers_;  // free ones; as many as the pool has threads
  std::thread thread_;
  async::BlockingPool pool_;  // the last: its threads end before what they use goes
};

Result<void> Check(Connection& db, const std::string& path) {
  const Error damaged(Code::kInvalid, path + " is damaged or no database: restore it from a backup");
  sqlite::Query query(db, "PRAGMA quick_check(1)");
  Result<bool> row = query.Step();
  if (!row && row.error().message.find("locked") != std::string::npos) return Fail(row.error().Wrap(path));
  if (!row || !*row || query.Text(0) != "ok") return Fail(damaged);
  return {};
}

// Opens, checks and migrates the writer's connection.
Result<std::unique_ptr<Connection>> OpenWriter(const SqliteOptions& options, const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::Open(options.path));
  RETURN_IF_ERROR(Check(*db, options.path));
  RETURN_IF_ERROR(db->Execute("PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY"));
  // Before the mode of the journal, so that a file that is not ours stays as it is.
  if (auto migrated = sqlite::Migrate(*db, options.path, sqlite::Migrations(), clock); !migrated) {
    if (migrated.error().code == Code::kInvalid) return Fail(migrated.error());
    return Fail(migrated.error().Wrap("opening " + options.path));
  }
  if (auto mode = db->Execute("PRAGMA journal_mode=WAL; PRAGMA journal_size_limit=67108864"); !mode)
    return Fail(mode.error().Wrap("opening " + options.path));
  return db;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenSqlite(async::Executor& executor, const Clock& clock,
                                          SqliteOptions options) {
  const bool in_memory = options.path == ":memory:";
  if (in_memory && !options.inline_mode)
    return Fail(Code::kInternal, "a database in memory has one connection: it needs inline_mode");
  const std::string folder = sqlite::FolderOf(options.path);
  std::optional<sqlite::FileLock> lock;
  if (!in_memory) {
    RETURN_IF_ERROR(sqlite::CheckFileSystem(folder));
    ASSIGN_OR_RETURN(sqlite::FileLock taken, sqlite::FileLock::Take(options.path));
    lock.emplace(std::move(taken));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, OpenWriter(options, clock));
  if (!in_memory) {
    RETURN_IF_ERROR(sqlite::SyncFolder(folder));
    RETURN_IF_ERROR(sqlite::SyncFolder(sqlite::FolderOf(folder)));
  }
  std::vector<std::unique_ptr<Connection>> readers;
  for (size_t i = 0; !options.inline_mode && i < std::max<size_t>(options.readers, 1); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> reader, Connection::Open(options.path));
    readers.push_back(std::move(reader));
  }
  return std::make_unique<SqliteStore>(executor, clock, std::move(options), std::move(lock),
                                       std::move(writer), std::move(readers));
}

}  // namespace cubeplane::storage
