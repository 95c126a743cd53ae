#include "engine/store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr int kApplicationId = 0x43504e45;  // "CPNE"
constexpr int kSchema = 1;

constexpr const char* kCreateTables =
    "CREATE TABLE IF NOT EXISTS objects(resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    " revision INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY(resource, namespace, name)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS meta(id INTEGER PRIMARY KEY CHECK(id = 1), revision INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO meta(id, revision) VALUES(1, 1);";

Error SqlError(sqlite3* db, std::string_view doing) {
  const int code = sqlite3_errcode(db) & 0xff;
  const bool storage = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_NOMEM ||
                       code == SQLITE_READONLY || code == SQLITE_CANTOPEN || code == SQLITE_CORRUPT;
  return Error(storage ? Code::kStoreFull : Code::kInternal, sqlite3_errmsg(db))
      .Wrap("engine database: " + std::string(doing));
}

struct Statement {
  sqlite3_stmt* statement = nullptr;
  ~Statement() { sqlite3_finalize(statement); }
};

void Bind(sqlite3_stmt* statement, int place, const std::string& text) {
  sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string Column(sqlite3_stmt* statement, int place) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, place));
  return {text == nullptr ? "" : text, static_cast<size_t>(sqlite3_column_bytes(statement, place))};
}

int64_t PragmaInt(sqlite3* db, const char* sql) {
  Statement row;
  if (sqlite3_prepare_v2(db, sql, -1, &row.statement, nullptr) != SQLITE_OK) return -1;
  return sqlite3_step(row.statement) == SQLITE_ROW ? sqlite3_column_int64(row.statement, 0) : -1;
}

std::set<std::string> OwnerUids(const json::Value& object) {
  std::set<std::string> uids;
  for (const json::Value& owner : object["metadata"]["ownerReferences"].AsArray()) {
    uids.insert(owner["uid"].AsString());
  }
  return uids;
}

bool SameButRevision(const json::Value& a, json::Value b) {
  b.MakeObject()["metadata"].Set("resourceVersion", a["metadata"]["resourceVersion"]);
  return a == b;
}

}  // namespace

Result<std::shared_ptr<Store>> Store::Open(const std::string& path, const StoreLimits& limits) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &db, flags, nullptr) != SQLITE_OK) {
    Error error = SqlError(db, "opening " + path);
    sqlite3_close(db);
    return Fail(std::move(error));
  }
  // It holds Secrets. SQLite gives its other files the mode of this one.
  if (path != ":memory:") chmod(path.c_str(), 0600);
  std::shared_ptr<Store> store(new Store(db, limits));
  RETURN_IF_ERROR(store->Load());
  return store;
}

Store::~Store() { Close(); }

void Store::Close() {
  if (db_ == nullptr) return;
  sqlite3_close(db_);
  db_ = nullptr;
  const auto listeners = std::move(listeners_);
  listeners_.clear();
  for (const auto& [id, listener] : listeners) listener(Change{});
}

Result<void> Store::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Fail(SqlError(db_, sql));
  return {};
}

Result<void> Store::Load() {
  // Before the first look: the sole user of a database in WAL mode needs no file of shared memory, so that a
  // full disk does not keep it from opening.
  RETURN_IF_ERROR(Execute("PRAGMA locking_mode=EXCLUSIVE;"));
  const int64_t id = PragmaInt(db_, "PRAGMA application_id");
  if (id < 0 && sqlite3_errcode(db_) != SQLITE_NOTADB) return Fail(SqlError(db_, "reading its header"));
  const int64_t schema = PragmaInt(db_, "PRAGMA user_version");
  if (id != kApplicationId && !(id == 0 && schema == 0)) {
    return Fail(Code::kInvalid, "the engine database is damaged or belongs to another program");
  }
  if (schema > kSchema) {
    return Fail(Code::kInvalid, "the engine database has schema " + std::to_string(schema) +
                                    "; this program knows up to " + std::to_string(kSchema) +
                                    ": use the newer program");
  }
  RETURN_IF_ERROR(Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  // One that is marked has its tables: opening it writes nothing, which a full disk would refuse.
  if (id != kApplicationId || schema != kSchema) {
    const std::string mark = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                             "; PRAGMA user_version=" + std::to_string(kSchema) + ";";
    RETURN_IF_ERROR(Execute(("BEGIN IMMEDIATE;" + std::string(kCreateTables) + mark + "COMMIT;").c_str()));
  }
  revision_ = first_revision_ = PragmaInt(db_, "SELECT revision FROM meta");
  Statement rows;
  const char* sql = "SELECT resource, namespace, name, value FROM objects";
  if (sqlite3_prepare_v2(db_, sql, -1, &rows.statement, nullptr) != SQLITE_OK)
    return Fail(SqlError(db_, "loading"));
  int step = 0;
  while ((step = sqlite3_step(rows.statement)) == SQLITE_ROW) {
    ObjectKey key{Column(rows.statement, 0), Column(rows.statement, 1), Column(rows.statement, 2)};
    auto object = json::Parse(Column(rows.statement, 3));
    if (!object) return Fail(object.error().Wrap("engine database: " + key.resource + " " + key.name));
    auto stored = std::make_shared<const json::Value>(std::move(*object));
    Index(key, nullptr, stored.get());
    resources_[key.resource][{key.namespace_name, key.name}] = std::move(stored);
    ++count_;
  }
  if (step != SQLITE_DONE) return Fail(SqlError(db_, "loading"));
  return {};
}

ObjectPtr Store::Get(const ObjectKey& key) const {
  const auto objects = resources_.find(key.resource);
  if (objects == resources_.end()) return nullptr;
  const auto found = objects->second.find({key.namespace_name, key.name});
  return found == objects->second.end() ? nullptr : found->second;
}

std::optional<ObjectKey> Store::KeyOfUid(const std::string& uid) const {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return std::nullopt;
  return found->second;
}

ObjectPtr Store::FindByUid(const std::string& uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : Get(found->second);
}

std::vector<ObjectPtr> Store::List(const std::string& resource, const std::string& namespace_name) const {
  std::vector<ObjectPtr> list;
  const auto objects = resources_.find(resource);
  if (objects == resources_.end()) return list;
  auto at =
      namespace_name.empty() ? objects->second.begin() : objects->second.lower_bound({namespace_name, ""});
  for (; at != objects->second.end(); ++at) {
    if (!namespace_name.empty() && at->first.first != namespace_name) break;
    list.push_back(at->second);
  }
  return list;
}

Result<std::vector<ObjectPtr>> Store::ListAt(const std::string& resource, const std::string& namespace_name,
                                             int64_t revision) const {
  if (revision < oldest_known()) return Fail(Code::kGone, "The provided continue parameter is too old");
  Objects objects;
  if (const auto found = resources_.find(resource); found != resources_.end()) objects = found->second;
  for (auto change = history_.rbegin(); change != history_.rend() && change->revision > revision; ++change) {
    if (change->key.resource != resource) continue;
    const std::pair<std::string, std::string> place{change->key.namespace_name, change->key.name};
    if (change->previous) {
      objects[place] = change->previous;
    } else {
      objects.erase(place);
    }
  }
  std::vector<ObjectPtr> list;
  for (const auto& [place, object] : objects) {
    if (namespace_name.empty() || place.first == namespace_name) list.push_back(object);
  }
  return list;
}

std::vector<ObjectKey> Store::Dependents(const std::string& owner_uid) const {
  const auto found = dependents_.find(owner_uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

Result<ObjectPtr> Store::Create(const ObjectKey& key, json::Value object) {
  if (Get(key)) return Fail(Code::kAlreadyExists, key.resource + " \"" + key.name + "\" already exists");
  if (count_ >= limits_.max_objects) {
    return Fail(Code::kStoreFull,
                "the engine holds its limit of " + std::to_string(limits_.max_objects) + " objects");
  }
  return Write(Change::Type::kAdded, key, std::move(object), nullptr);
}

Result<ObjectPtr> Store::Update(const ObjectKey& key, json::Value object) {
  ObjectPtr previous = Get(key);
  if (!previous) return Fail(Code::kNotFound, key.resource + " \"" + key.name + "\" not found");
  if (SameButRevision(*previous, object)) return previous;
  return Write(Change::Type::kModified, key, std::move(object), std::move(previous));
}

Result<ObjectPtr> Store::Delete(const ObjectKey& key) {
  ObjectPtr previous = Get(key);
  if (!previous) return Fail(Code::kNotFound, key.resource + " \"" + key.name + "\" not found");
  json::Value object = *previous;
  return Write(Change::Type::kDeleted, key, std::move(object), std::move(previous));
}

Result<ObjectPtr> Store::Write(Change::Type type, const ObjectKey& key, json::Value object,
                               ObjectPtr previous) {
  if (closed()) return Fail(Code::kUnavailable, "the engine is stopping");
  const int64_t revision = revision_ + 1;
  object.MakeObject()["metadata"].Set("resourceVersion", std::to_string(revision));
  const std::string text = json::Write(object);
  if (type != Change::Type::kDeleted && text.size() > limits_.max_object_bytes) {
    return Fail(Code::kTooLarge, "the object has " + std::to_string(text.size()) + " bytes; at most " +
                                     std::to_string(limits_.max_object_bytes) + " are stored");
  }
  RETURN_IF_ERROR(Persist(type, key, text, revision));
  revision_ = revision;
  auto stored = std::make_shared<const json::Value>(std::move(object));
  auto& objects = resources_[key.resource];
  const std::pair<std::string, std::string> place{key.namespace_name, key.name};
  if (type == Change::Type::kDeleted) {
    Index(key, previous.get(), nullptr);
    objects.erase(place);
    --count_;
  } else {
    Index(key, previous.get(), stored.get());
    objects[place] = stored;
    if (type == Change::Type::kAdded) ++count_;
  }
  history_.push_back(Change{type, revision, key, stored, std::move(previous)});
  if (history_.size() > limits_.max_history) history_.pop_front();
  const Change change = history_.back();
  for (const auto& [id, listener] : listeners_) listener(change);
  return stored;
}

Result<void> Store::Persist(Change::Type type, const ObjectKey& key, const std::string& text,
                            int64_t revision) {
  const bool gone = type == Change::Type::kDeleted;
  const char* sql =
      gone ? "DELETE FROM objects WHERE resource=?1 AND namespace=?2 AND name=?3"
           : "INSERT INTO objects(resource, namespace, name, revision, value) VALUES(?1, ?2, ?3, ?4, ?5)"
             " ON CONFLICT DO UPDATE SET revision=excluded.revision, value=excluded.value";
  RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  Result<void> written = [&]() -> Result<void> {
    Statement put;
    if (sqlite3_prepare_v2(db_, sql, -1, &put.statement, nullptr) != SQLITE_OK)
      return Fail(SqlError(db_, "writing"));
    Bind(put.statement, 1, key.resource);
    Bind(put.statement, 2, key.namespace_name);
    Bind(put.statement, 3, key.name);
    if (!gone) {
      sqlite3_bind_int64(put.statement, 4, revision);
      Bind(put.statement, 5, text);
    }
    if (sqlite3_step(put.statement) != SQLITE_DONE) return Fail(SqlError(db_, "writing"));
    const std::string mark = "UPDATE meta SET revision=" + std::to_string(revision);
    RETURN_IF_ERROR(Execute(mark.c_str()));
    return Execute("COMMIT");
  }();
  // A failed COMMIT may have rolled back by itself: then this says so and nothing is lost by not looking.
  if (!written) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  return written;
}

void Store::Index(const ObjectKey& key, const json::Value* before, const json::Value* after) {
  if (before != nullptr) {
    by_uid_.erase((*before)["metadata"]["uid"].AsString());
    for (const std::string& uid : OwnerUids(*before)) {
      auto owned = dependents_.find(uid);
      if (owned == dependents_.end()) continue;
      owned->second.erase(key);
      if (owned->second.empty()) dependents_.erase(owned);
    }
  }
  if (after != nullptr) {
    by_uid_[(*after)["metadata"]["uid"].AsString()] = key;
    for (const std::string& uid : OwnerUids(*after)) dependents_[uid].insert(key);
  }
}

int64_t Store::oldest_known() const {
  return history_.empty() ? revision_ : std::max(first_revision_, history_.front().revision - 1);
}

std::vector<const Change*> Store::Since(int64_t revision, size_t max) const {
  auto at = std::upper_bound(history_.begin(), history_.end(), revision,
                             [](int64_t value, const Change& change) { return value < change.revision; });
  std::vector<const Change*> changes;
  for (; at != history_.end() && changes.size() < max; ++at) changes.push_back(&*at);
  return changes;
}

uint64_t Store::Subscribe(Listener listener) {
  const uint64_t id = next_listener_++;
  listeners_.emplace(id, std::move(listener));
  return id;
}

void Store::Unsubscribe(uint64_t id) { listeners_.erase(id); }

}  // namespace cubeplane::engine
