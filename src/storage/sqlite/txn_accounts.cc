#include "storage/sqlite/txn.h"

// Users, sessions, tokens, one-time values, blobs and kept logs.
namespace cubeplane::storage::sqlite {
namespace {

// Expired rows go with the next one that is added; not at once, so that a clock that steps forth and back
// harms nobody.
constexpr Duration kExpiredKept = std::chrono::hours(24);

UserRow ReadUser(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Bool(3), query.Bool(4), query.At(5)};
}

SessionRow ReadSession(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Text(3), query.At(4), query.At(5), query.At(6)};
}

TokenRow ReadToken(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2),    query.Text(3),
          query.Text(4), query.At(5),   query.MaybeAt(6), query.MaybeAt(7)};
}

OneTimeRow ReadOneTime(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Text(3), query.Text(4), query.At(5)};
}

}  // namespace

Result<std::optional<UserRow>> SqliteTxn::GetUser(std::string_view name) {
  Query query(
      db_, "SELECT name, display_name, password_hash, admin, disabled, created FROM users WHERE name = ?1");
  query.Bind(name);
  return OneRow(query, ReadUser);
}

Result<std::vector<UserRow>> SqliteTxn::Users() {
  Query query(db_,
              "SELECT name, display_name, password_hash, admin, disabled, created FROM users ORDER BY name");
  return AllRows(query, ReadUser);
}

Result<void> SqliteTxn::PutUser(const UserRow& row) {
  Query put(db_,
            "INSERT INTO users (name, display_name, password_hash, admin, disabled, created) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO UPDATE SET display_name = ?2, "
            "password_hash = ?3, "
            "admin = ?4, disabled = ?5, created = ?6");
  put.Bind(row.name, row.display_name, row.password_hash, row.admin, row.disabled, row.created);
  return put.Run();
}

Result<std::optional<SessionRow>> SqliteTxn::GetSession(std::string_view id_hash) {
  Query query(db_,
              "SELECT id_hash, user, host, parent_hash, created, expires, last_seen FROM sessions WHERE "
              "id_hash = ?1");
  query.Bind(id_hash);
  return OneRow(query, ReadSession);
}

Result<std::vector<SessionRow>> SqliteTxn::Sessions() {
  Query query(
      db_,
      "SELECT id_hash, user, host, parent_hash, created, expires, last_seen FROM sessions WHERE expires > ?1 "
      "ORDER BY id_hash");
  query.Bind(now_);
  return AllRows(query, ReadSession);
}

Result<void> SqliteTxn::PutSession(const SessionRow& row) {
  {
    Query forget(db_, "DELETE FROM sessions WHERE expires < ?1");
    forget.Bind(now_ - kExpiredKept);
    RETURN_IF_ERROR(forget.Run());
  }
  Query put(db_,
            "INSERT INTO sessions (id_hash, user, host, parent_hash, created, expires, last_seen) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id_hash) DO UPDATE SET user = ?2, host = ?3, "
            "parent_hash = ?4, created = ?5, expires = ?6, last_seen = ?7");
  put.Bind(row.id_hash, row.user, row.host, row.parent_hash, row.created, row.expires, row.last_seen);
  return put.Run();
}

Result<void> SqliteTxn::DeleteSession(std::string_view id_hash) {
  if (id_hash.empty()) return Fail(Code::kInvalid, "deleting a session: the hash is empty");
  Query remove(db_, "DELETE FROM sessions WHERE id_hash = ?1 OR parent_hash = ?1");
  remove.Bind(id_hash);
  return remove.Run();
}

Result<void> SqliteTxn::DeleteSessionsOf(std::string_view user) {
  Query remove(db_, "DELETE FROM sessions WHERE user = ?1");
  remove.Bind(user);
  return remove.Run();
}

Result<std::optional<TokenRow>> SqliteTxn::GetTokenByHash(std::string_view hash) {
  Query query(db_,
              "SELECT id, hash, user, label, scope, created, expires, last_used FROM tokens WHERE hash = ?1");
  query.Bind(hash);
  return OneRow(query, ReadToken);
}

Result<std::vector<TokenRow>> SqliteTxn::TokensOf(std::string_view user) {
  Query query(db_,
              "SELECT id, hash, user, label, scope, created, expires, last_used FROM tokens WHERE user = ?1 "
              "ORDER BY id");
  query.Bind(user);
  return AllRows(query, ReadToken);
}

Result<void> SqliteTxn::PutToken(const TokenRow& row) {
  Query put(db_,
            "INSERT INTO tokens (id, hash, user, label, scope, created, expires, last_used) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET hash = ?2, user = ?3, "
            "label = ?4, "
            "scope = ?5, created = ?6, expires = ?7, last_used = ?8");
  put.Bind(row.id, row.hash, row.user, row.label, row.scope, row.created, row.expires, row.last_used);
  return put.Run();
}

Result<bool> SqliteTxn::DeleteToken(std::string_view user, std::string_view id) {
  Query remove(db_, "DELETE FROM tokens WHERE user = ?1 AND id = ?2");
  remove.Bind(user, id);
  RETURN_IF_ERROR(remove.Run());
  return remove.Changes() > 0;
}

Result<void> SqliteTxn::PutOneTime(const OneTimeRow& row) {
  {
    Query forget(db_, "DELETE FROM one_time WHERE expires < ?1");
    forget.Bind(now_ - kExpiredKept);
    RETURN_IF_ERROR(forget.Run());
  }
  Query put(
      db_, "INSERT INTO one_time (hash, purpose, user, host, data, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  put.Bind(row.hash, row.purpose, row.user, row.host, row.data, row.expires);
  return put.Run();
}

Result<std::optional<OneTimeRow>> SqliteTxn::TakeOneTime(std::string_view hash) {
  std::optional<OneTimeRow> row;
  {
    Query query(db_, "SELECT hash, purpose, user, host, data, expires FROM one_time WHERE hash = ?1");
    query.Bind(hash);
    ASSIGN_OR_RETURN(row, OneRow(query, ReadOneTime));
  }
  Query remove(db_, "DELETE FROM one_time WHERE hash = ?1");
  remove.Bind(hash);
  RETURN_IF_ERROR(remove.Run());
  return row;
}

Result<std::optional<BlobRow>> SqliteTxn::GetBlob(std::string_view digest) {
  Query query(db_, "SELECT digest, owner, bytes, at FROM blobs WHERE digest = ?1");
  query.Bind(digest);
  return OneRow(query, [](const Query& q) { return BlobRow{q.Text(0), q.Text(1), q.Text(2), q.At(3)}; });
}

Result<void> SqliteTxn::PutBlob(const BlobRow& row) {
  Query put(db_, "INSERT OR REPLACE INTO blobs (digest, owner, bytes, at) VALUES (?1, ?2, ?3, ?4)");
  put.Bind(row.digest, row.owner).BindBlob(row.bytes).Bind(row.at);
  return put.Run();
}

Result<std::optional<KeptLog>> SqliteTxn::GetKeptLog(std::string_view workload_uid, int32_t attempt) {
  Query query(db_,
              "SELECT workload_uid, attempt, path, text, ended FROM kept_logs "
              "WHERE workload_uid = ?1 AND attempt = ?2");
  query.Bind(workload_uid, attempt);
  return OneRow(query, [](const Query& q) {
    return KeptLog{q.Text(0), static_cast<int32_t>(q.Int(1)), q.Text(2), q.Text(3), q.At(4)};
  });
}

Result<void> SqliteTxn::PutKeptLog(const KeptLog& log) {
  Query put(db_,
            "INSERT OR REPLACE INTO kept_logs (workload_uid, attempt, path, text, ended) VALUES (?1, ?2, ?3, "
            "?4, ?5)");
  put.Bind(log.workload_uid, log.attempt, log.path, log.text, log.ended);
  return put.Run();
}

}  // namespace cubeplane::storage::sqlite
