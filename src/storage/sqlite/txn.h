// Reader and Txn over one connection. The statements of each table stand in txn_objects.cc, txn_quota.cc,
// txn_accounts.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace cubeplane::storage::sqlite {

// Threading: as its connection. Lifetime: inside one transaction of `db`, which the caller begins and ends.
class SqliteTxn final : public Txn {
 public:
  // Keeps `feed_kept` events of the change feed; sessions and one-time values that have expired at `now` are
  // not given.
  SqliteTxn(Connection& db, int64_t feed_kept, Time now) : db_(db), feed_kept_(feed_kept), now_(now) {}

  // What PutObject and DeleteObject have told, in order. The caller cuts off what it rolls back.
  std::vector<FeedEvent>& events() { return events_; }

  Result<std::optional<ObjectRow>> GetObject(std::string_view kind, std::string_view project,
                                             std::string_view name) override;
  Result<std::optional<ObjectRow>> GetObjectByUid(std::string_view uid) override;
  Result<std::vector<ObjectRow>> ListObjects(std::string_view kind, std::string_view project, size_t limit,
                                             std::string_view after_uid) override;
  Result<std::vector<FeedEvent>> Feed(int64_t after, size_t limit) override;
  Result<int64_t> LastSeq() override;
  Result<std::vector<BindingRow>> Bindings(std::string_view project) override;
  Result<std::vector<ReservationRow>> LiveReservations(std::string_view binding_id) override;
  Result<std::vector<ReservationRow>> ReservationsOf(std::string_view workload_uid) override;
  Result<std::optional<WorkloadRow>> GetWorkload(std::string_view uid) override;
  Result<std::vector<WorkloadRow>> WorkloadsInPhase(std::string_view phase,
                                                    std::string_view project) override;
  Result<std::optional<SentMark>> GetSentMark(std::string_view workload_uid, int32_t attempt) override;
  Result<std::optional<IdempotencyRow>> GetIdempotency(std::string_view principal,
                                                       std::string_view key) override;
  Result<std::vector<AuditRow>> Audit(int64_t after, size_t limit) override;
  Result<std::optional<NameClaim>> GetNameClaim(std::string_view kind, std::string_view project,
                                                std::string_view name) override;
  Result<std::optional<UserRow>> GetUser(std::string_view name) override;
  Result<std::vector<UserRow>> Users() override;
  Result<std::optional<SessionRow>> GetSession(std::string_view id_hash) override;
  Result<std::vector<SessionRow>> Sessions() override;
  Result<std::optional<TokenRow>> GetTokenByHash(std::string_view hash) override;
  Result<std::vector<TokenRow>> TokensOf(std::string_view user) override;
  Result<std::optional<BlobRow>> GetBlob(std::string_view digest) override;
  Result<std::optional<KeptLog>> GetKeptLog(std::string_view workload_uid, int32_t attempt) override;
  Result<std::optional<std::string>> GetMeta(std::string_view key) override;

  Result<int64_t> PutObject(const ObjectRow& row) override;
  Result<int64_t> DeleteObject(std::string_view uid) override;
  Result<void> PutBinding(const BindingRow& row) override;
  Result<void> DeleteBinding(std::string_view id) override;
  Result<void> PutWorkload(WorkloadRow& row) override;
  Result<void> DeleteWorkload(std::string_view uid) override;
  Result<void> Reserve(const std::vector<ReservationRow>& rows) override;
  Result<int> SetReservationState(std::string_view workload_uid, int32_t attempt,
                                  ReservationState state) override;
  Result<void> PutSentMark(const SentMark& mark) override;
  Result<void> PutIdempotency(const IdempotencyRow& row) override;
  Result<int> ExpireIdempotency(Time before) override;
  Result<void> AppendAudit(AuditRow row) override;
  Result<void> PutNameClaim(const NameClaim& claim) override;
  Result<void> PutUser(const UserRow& row) override;
  Result<void> PutSession(const SessionRow& row) override;
  Result<void> DeleteSession(std::string_view id_hash) override;
  Result<void> DeleteSessionsOf(std::string_view user) override;
  Result<void> PutToken(const TokenRow& row) override;
  Result<bool> DeleteToken(std::string_view user, std::string_view id) override;
  Result<void> PutOneTime(const OneTimeRow& row) override;
  Result<std::optional<OneTimeRow>> TakeOneTime(std::string_view hash) override;
  Result<void> PutBlob(const BlobRow& row) override;
  Result<void> PutKeptLog(const KeptLog& log) override;
  Result<void> PutMeta(std::string_view key, std::string_view value) override;

 private:
  // Adds an event to the feed, forgets the oldest, and gives its number.
  Result<int64_t> Tell(bool deleted, ObjectRow object);

  Connection& db_;
  const int64_t feed_kept_;
  const Time now_;
  std::vector<FeedEvent> events_;
};

// The row of `query`, read by `read`; nullopt when there is none.
template <class F, class T = std::invoke_result_t<F, const Query&>>
Result<std::optional<T>> OneRow(Query& query, F read) {
  ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) return std::optional<T>();
  return std::optional<T>(read(query));
}

// All rows of `query`, each read by `read`.
template <class F, class T = std::invoke_result_t<F, const Query&>>
Result<std::vector<T>> AllRows(Query& query, F read) {
  std::vector<T> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return rows;
    rows.push_back(read(query));
  }
}

}  // namespace cubeplane::storage::sqlite
