#include "storage/audit.h"
#include "storage/sqlite/txn.h"

// Objects, the change feed, the audit log, idempotency, names and meta.
namespace cubeplane::storage::sqlite {
namespace {

ObjectRow ReadObject(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Text(3), query.Int(4), query.Text(5)};
}

FeedEvent ReadEvent(const Query& query) {
  const int64_t seq = query.Int(0);
  return {
      seq, query.Bool(1), {query.Text(2), query.Text(3), query.Text(4), query.Text(5), seq, query.Text(6)}};
}

AuditRow ReadAudit(const Query& query) {
  return {query.Int(0),  query.At(1),   query.Text(2), query.Text(3), query.Text(4),
          query.Text(5), query.Text(6), query.Text(7), query.Text(8), query.Text(9)};
}

}  // namespace

Result<std::optional<ObjectRow>> SqliteTxn::GetObject(std::string_view kind, std::string_view project,
                                                      std::string_view name) {
  Query query(db_,
              "SELECT kind, uid, project, name, resource_version, json FROM objects "
              "WHERE kind = ?1 AND project = ?2 AND name = ?3");
  query.Bind(kind, project, name);
  return OneRow(query, ReadObject);
}

Result<std::optional<ObjectRow>> SqliteTxn::GetObjectByUid(std::string_view uid) {
  Query query(db_, "SELECT kind, uid, project, name, resource_version, json FROM objects WHERE uid = ?1");
  query.Bind(uid);
  return OneRow(query, ReadObject);
}

Result<std::vector<ObjectRow>> SqliteTxn::ListObjects(std::string_view kind, std::string_view project,
                                                      size_t limit, std::string_view after_uid) {
  Query query(
      db_,
      "SELECT kind, uid, project, name, resource_version, json FROM objects "
      "WHERE uid > ?4 AND (?1 = '' OR kind = ?1) AND (?2 = '' OR project = ?2) ORDER BY uid LIMIT ?3");
  query.Bind(kind, project, limit, after_uid);
  return AllRows(query, ReadObject);
}

Result<std::vector<FeedEvent>> SqliteTxn::Feed(int64_t after, size_t limit) {
  ASSIGN_OR_RETURN(const int64_t last, LastSeq());
  int64_t oldest = last + 1;
  {
    Query query(db_, "SELECT min(seq) FROM feed");
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (row && !query.IsNull(0)) oldest = query.Int(0);
  }
  // A number from the future comes from another life of the database (a restore): the reader has to list
  // again.
  if (after + 1 < oldest || after > last)
    return Fail(Code::kGone, "changes after " + std::to_string(after) + " are no longer kept (kept: " +
                                 std::to_string(oldest) + " to " + std::to_string(last) + ")");
  Query query(
      db_,
      "SELECT seq, deleted, kind, uid, project, name, json FROM feed WHERE seq > ?1 ORDER BY seq LIMIT ?2");
  query.Bind(after, limit);
  return AllRows(query, ReadEvent);
}

Result<int64_t> SqliteTxn::LastSeq() {
  Query query(db_, "SELECT seq FROM sqlite_sequence WHERE name = 'feed'");
  ASSIGN_OR_RETURN(const bool row, query.Step());
  return row ? query.Int(0) : 0;
}

Result<int64_t> SqliteTxn::Tell(bool deleted, ObjectRow object) {
  {
    Query insert(db_,
                 "INSERT INTO feed (deleted, kind, uid, project, name, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                 "RETURNING seq");
    insert.Bind(deleted, object.kind, object.uid, object.project, object.name, object.json);
    ASSIGN_OR_RETURN(const bool row, insert.Step());
    object.resource_version = row ? insert.Int(0) : 0;
    RETURN_IF_ERROR(insert.Run());
  }
  const int64_t seq = object.resource_version;
  Query forget(db_, "DELETE FROM feed WHERE seq <= ?1");
  forget.Bind(seq - feed_kept_);
  RETURN_IF_ERROR(forget.Run());
  events_.push_back({seq, deleted, std::move(object)});
  return seq;
}

Result<int64_t> SqliteTxn::PutObject(const ObjectRow& row) {
  ASSIGN_OR_RETURN(const int64_t seq, Tell(false, row));
  Query put(
      db_,
      "INSERT INTO objects (uid, kind, project, name, resource_version, json) VALUES (?1, ?2, ?3, ?4, ?5, "
      "?6) "
      "ON CONFLICT (uid) DO UPDATE SET kind = ?2, project = ?3, name = ?4, resource_version = ?5, json = ?6");
  put.Bind(row.uid, row.kind, row.project, row.name, seq, row.json);
  RETURN_IF_ERROR(put.Run());
  return seq;
}

Result<int64_t> SqliteTxn::DeleteObject(std::string_view uid) {
  ASSIGN_OR_RETURN(std::optional<ObjectRow> row, GetObjectByUid(uid));
  if (!row) return Fail(Code::kNotFound, "there is no object " + std::string(uid));
  Query remove(db_, "DELETE FROM objects WHERE uid = ?1");
  remove.Bind(uid);
  RETURN_IF_ERROR(remove.Run());
  return Tell(true, std::move(*row));
}

Result<std::optional<IdempotencyRow>> SqliteTxn::GetIdempotency(std::string_view principal,
                                                                std::string_view key) {
  Query query(
      db_,
      "SELECT principal, key, method, path, body_sha256, status, answer, object_uid, at FROM idempotency "
      "WHERE principal = ?1 AND key = ?2");
  query.Bind(principal, key);
  return OneRow(query, [](const Query& q) {
    return IdempotencyRow{q.Text(0), q.Text(1), q.Text(2), q.Text(3), q.Text(4), static_cast<int>(q.Int(5)),
                          q.Text(6), q.Text(7), q.At(8)};
  });
}

Result<void> SqliteTxn::PutIdempotency(const IdempotencyRow& row) {
  Query put(db_,
            "INSERT OR REPLACE INTO idempotency (principal, key, method, path, body_sha256, status, answer, "
            "object_uid, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  put.Bind(row.principal, row.key, row.method, row.path, row.body_sha256, row.status, row.answer,
           row.object_uid, row.at);
  return put.Run();
}

Result<int> SqliteTxn::ExpireIdempotency(Time before) {
  Query remove(db_, "DELETE FROM idempotency WHERE at < ?1");
  remove.Bind(before);
  RETURN_IF_ERROR(remove.Run());
  return static_cast<int>(remove.Changes());
}

Result<std::vector<AuditRow>> SqliteTxn::Audit(int64_t after, size_t limit) {
  Query query(
      db_,
      "SELECT seq, at, principal, action, object, request_id, before, after, previous_hash, hash FROM audit "
      "WHERE seq > ?1 ORDER BY seq LIMIT ?2");
  query.Bind(after, limit);
  return AllRows(query, ReadAudit);
}

Result<void> SqliteTxn::AppendAudit(AuditRow row) {
  row.seq = 1;
  row.previous_hash = kAuditStart;
  {
    Query last(db_, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
    ASSIGN_OR_RETURN(const bool there, last.Step());
    if (there) {
      row.seq = last.Int(0) + 1;
      row.previous_hash = last.Text(1);
    }
  }
  row.hash = AuditHash(row);
  Query put(db_,
            "INSERT INTO audit (seq, at, principal, action, object, request_id, before, after, "
            "previous_hash, hash) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
  put.Bind(row.seq, row.at, row.principal, row.action, row.object, row.request_id, row.before, row.after,
           row.previous_hash, row.hash);
  return put.Run();
}

Result<std::optional<NameClaim>> SqliteTxn::GetNameClaim(std::string_view kind, std::string_view project,
                                                         std::string_view name) {
  Query query(db_,
              "SELECT kind, project, name, owner, uid, freed FROM name_claims "
              "WHERE kind = ?1 AND project = ?2 AND name = ?3");
  query.Bind(kind, project, name);
  return OneRow(query, [](const Query& q) {
    return NameClaim{q.Text(0), q.Text(1), q.Text(2), q.Text(3), q.Text(4), q.MaybeAt(5)};
  });
}

Result<void> SqliteTxn::PutNameClaim(const NameClaim& claim) {
  Query put(db_,
            "INSERT OR REPLACE INTO name_claims (kind, project, name, owner, uid, freed) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  put.Bind(claim.kind, claim.project, claim.name, claim.owner, claim.uid, claim.freed);
  return put.Run();
}

Result<std::optional<std::string>> SqliteTxn::GetMeta(std::string_view key) {
  Query query(db_, "SELECT value FROM meta WHERE key = ?1");
  query.Bind(key);
  return OneRow(query, [](const Query& q) { return q.Text(0); });
}

Result<void> SqliteTxn::PutMeta(std::string_view key, std::string_view value) {
  Query put(db_, "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)");
  put.Bind(key, value);
  return put.Run();
}

}  // namespace cubeplane::storage::sqlite
