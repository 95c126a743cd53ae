#include "state/answers.h"

namespace cubeplane::state {

Result<std::optional<storage::IdempotencyRow>> EarlierAnswer(storage::Reader& reader, const Call& call,
                                                             Time now, Duration retention) {
  if (call.idempotency_key.empty() || call.dry_run) return std::optional<storage::IdempotencyRow>();
  ASSIGN_OR_RETURN(auto row, reader.GetIdempotency(call.user, call.idempotency_key));
  if (!row || row->at + retention <= now) return std::optional<storage::IdempotencyRow>();
  if (row->method != call.method || row->path != call.path || row->body_sha256 != call.body_sha256)
    return Fail(Error(Code::kInvalid, "idempotency_mismatch", {{"key", call.idempotency_key}},
                      "the idempotency key " + call.idempotency_key + " was used with another request"));
  if (row->answer.empty())
    return Fail(Error(Code::kConflict, "answer_not_kept", {{"id", row->object_uid}},
                      "this was done already (id " + row->object_uid + ")"));
  return row;
}

Result<void> KeepAnswer(storage::Txn& txn, const Call& call, Time now, Duration retention, int status,
                        const std::string& answer, const std::string& object_uid) {
  if (call.idempotency_key.empty() || call.dry_run) return {};
  RETURN_IF_ERROR(txn.ExpireIdempotency(now - retention));
  return txn.PutIdempotency({call.user, call.idempotency_key, call.method, call.path, call.body_sha256,
                             status, answer, object_uid, now});
}

Result<void> Record(storage::Txn& txn, const Call& call, Time now, std::string action, std::string object,
                    std::string before, std::string after) {
  return txn.AppendAudit({0, now, call.user, std::move(action), std::move(object), call.request_id,
                          std::move(before), std::move(after), "", ""});
}

Result<void> RecordOwn(storage::Txn& txn, Time now, std::string action, std::string object,
                       std::string after) {
  return txn.AppendAudit(
      {0, now, "cubeplane", std::move(action), std::move(object), "", "", std::move(after), "", ""});
}

}  // namespace cubeplane::state
