// SQLite behind values: a connection with cached statements, and one use of a statement.
//
// Threading: a connection and its queries are used by one thread at a time. The only folder that includes
// sqlite3.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cubeplane::storage::sqlite {

class Connection {
 public:
  // Opens `path` (":memory:" for a private one in memory) for reading and writing, made with mode 0600 when
  // it is not there. Errors: kUnavailable with SQLite's words.
  static Result<std::unique_ptr<Connection>> Open(const std::string& path);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements that give no rows.
  Result<void> Execute(const char* sql);
  // False once SQLite has rolled the transaction back by itself.
  bool in_transaction() const;
  // The first failure of the medium (full, I/O, memory, read-only, corrupt, locked) since the last
  // ClearTrouble: the whole transaction is lost then, whatever its functions made of the error.
  const std::optional<Error>& trouble() const { return trouble_; }
  void ClearTrouble() { trouble_.reset(); }

 private:
  friend class Query;
  explicit Connection(sqlite3* db) : db_(db) {}
  // The error of the call that just failed with `code`; notes it when it is the medium's.
  Error Failed(int code);

  sqlite3* db_;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;  // by the address of the literal
  std::optional<Error> trouble_;
};

// One use of a statement; resets it when it goes. Failures of preparing and binding come out of Step.
class Query {
 public:
  // `sql` is a string literal: its address is the key of the cache.
  Query(Connection& db, const char* sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // The next parameters, in order. Texts are copied.
  template <class... A>
  Query& Bind(const A&... values) {
    (BindOne(values), ...);
    return *this;
  }
  Query& BindBlob(std::string_view bytes);

  // True: a row is there. False: the end.
  Result<bool> Step();
  // Steps to the end.
  Result<void> Run();

  std::string Text(int column) const;
  int64_t Int(int column) const;
  bool Bool(int column) const { return Int(column) != 0; }
  bool IsNull(int column) const;
  // Texts that Bind wrote for a Time.
  Time At(int column) const;
  std::optional<Time> MaybeAt(int column) const;
  // Rows changed by the last statement that ended.
  int64_t Changes() const;

 private:
  void BindOne(std::string_view text);
  void BindOne(const std::string& text) { BindOne(std::string_view(text)); }
  void BindOne(const char* text) { BindOne(std::string_view(text)); }
  void BindOne(int64_t value);
  void BindOne(int value) { BindOne(static_cast<int64_t>(value)); }
  void BindOne(size_t value) { BindOne(static_cast<int64_t>(value)); }
  void BindOne(bool value) { BindOne(static_cast<int64_t>(value)); }
  void BindOne(Time value) { BindOne(FormatTime(value)); }
  void BindOne(const std::optional<Time>& value);
  void Note(int code);

  Connection& db_;
  sqlite3_stmt* statement_ = nullptr;
  bool cached_ = true;
  int next_ = 1;
  std::optional<Error> problem_;
};

}  // namespace cubeplane::storage::sqlite
