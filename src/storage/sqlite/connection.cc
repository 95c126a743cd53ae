#include "storage/sqlite/connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace cubeplane::storage::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;

// How the caller is to take a failure.
struct Meaning {
  Code code;
  bool medium;  // the whole transaction is lost
  const char* words;
};

Meaning MeaningOf(int extended) {
  switch (extended & 0xff) {
    case SQLITE_FULL:
      return {Code::kStoreFull, true, "the disk is full"};
    case SQLITE_IOERR:
      return {Code::kStoreFull, true, "the disk cannot be read or written"};
    case SQLITE_NOMEM:
      return {Code::kStoreFull, true, "there is no memory left"};
    case SQLITE_READONLY:
      return {Code::kStoreFull, true, "the file or its file system is read-only"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Code::kStoreFull, true, "the database is damaged"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
      return {Code::kStoreFull, true, "the database cannot be opened"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kStoreFull, true, "another program holds the database locked"};
    case SQLITE_CONSTRAINT:
      if (extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_UNIQUE ||
          extended == SQLITE_CONSTRAINT_ROWID)
        return {Code::kAlreadyExists, false, "it is there already"};
      if (extended == SQLITE_CONSTRAINT_FOREIGNKEY)
        return {Code::kInvalid, false, "it refers to something that is not there"};
      return {Code::kInternal, false, "a rule of the schema is broken"};
    case SQLITE_TOOBIG:
      return {Code::kTooLarge, false, "it is too large to store"};
    default:
      return {Code::kInternal, false, "the database refused"};
  }
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path) {
  if (path != ":memory:") {
    // Made here so that nobody else can read it; SQLite gives -wal and -shm the same mode.
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
  }
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Connection> db(new Connection(handle));
  if (code != SQLITE_OK) return Fail(Code::kUnavailable, db->Failed(code).message);
  if (sqlite3_db_readonly(handle, "main") == 1)
    return Fail(Code::kStoreFull, path + ": the file or its file system is read-only");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  return db;
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Error Connection::Failed(int code) {
  const int extended = db_ != nullptr ? sqlite3_extended_errcode(db_) : code;
  const Meaning meaning = MeaningOf(extended != SQLITE_OK ? extended : code);
  Error error(meaning.code, std::string("store: ") + meaning.words + " (SQLite: " +
                                (db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code)) + ")");
  if (meaning.medium && !trouble_) trouble_ = error;
  return error;
}

Result<void> Connection::Execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Fail(Failed(code));
  return {};
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

Query::Query(Connection& db, const char* sql) : db_(db) {
  const auto known = db.statements_.find(sql);
  if (known != db.statements_.end() && sqlite3_stmt_busy(known->second) == 0) {
    statement_ = known->second;
    return;
  }
  cached_ = known == db.statements_.end();
  const int code =
      sqlite3_prepare_v3(db.db_, sql, -1, cached_ ? SQLITE_PREPARE_PERSISTENT : 0, &statement_, nullptr);
  if (code != SQLITE_OK) {
    Note(code);
  } else if (cached_) {
    db.statements_.emplace(sql, statement_);
  }
}

Query::~Query() {
  if (statement_ == nullptr) return;  // it could not be prepared
  if (cached_) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  } else {
    sqlite3_finalize(statement_);
  }
}

void Query::Note(int code) {
  if (code != SQLITE_OK && !problem_) problem_ = db_.Failed(code);
}

Query& Query::BindBlob(std::string_view bytes) {
  Note(sqlite3_bind_blob64(statement_, next_++, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

void Query::BindOne(std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.data() != nullptr ? text.data() : "";
  Note(sqlite3_bind_text64(statement_, next_++, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Query::BindOne(int64_t value) { Note(sqlite3_bind_int64(statement_, next_++, value)); }

void Query::BindOne(const std::optional<Time>& value) {
  if (value) {
    BindOne(*value);
  } else {
    Note(sqlite3_bind_null(statement_, next_++));
  }
}

Result<bool> Query::Step() {
  if (problem_) return Fail(*problem_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  problem_ = db_.Failed(code);
  return Fail(*problem_);
}

Result<void> Query::Run() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return {};
  }
}

std::string Query::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data != nullptr ? std::string(static_cast<const char*>(data), static_cast<size_t>(size))
                         : std::string();
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }
bool Query::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
Time Query::At(int column) const { return ParseTime(Text(column)).value_or(Time()); }

std::optional<Time> Query::MaybeAt(int column) const {
  if (IsNull(column)) return std::nullopt;
  return At(column);
}

int64_t Query::Changes() const { return sqlite3_changes64(db_.db_); }

}  // namespace cubeplane::storage::sqlite
