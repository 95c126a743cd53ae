#include <charconv>

#include "storage/sqlite/txn.h"

// Bindings, workloads, reservations and sent marks.
namespace cubeplane::storage::sqlite {
namespace {

constexpr __int128 kNanoPerMilli = 1'000'000;
constexpr int64_t kReleased = 2;

// Amounts go beyond 64 bits, so they are stored as text.
std::string DecimalText(__int128 value) {
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  if (negative) text.insert(text.begin(), '-');
  return text;
}

__int128 DecimalValue(std::string_view text) {
  const bool negative = text.starts_with('-');
  __int128 value = 0;
  for (const char digit : text.substr(negative ? 1 : 0)) value = value * 10 + (digit - '0');
  return negative ? -value : value;
}

ReservationRow ReadReservation(const Query& query) {
  return {query.Text(0),
          static_cast<int32_t>(query.Int(1)),
          query.Text(2),
          query.Text(3),
          query.Text(4),
          Quantity::FromNano(DecimalValue(query.Text(5)) * kNanoPerMilli,
                             static_cast<Quantity::Format>(query.Int(6))),
          static_cast<ReservationState>(query.Int(7))};
}

WorkloadRow ReadWorkload(const Query& query) {
  return {query.Text(0), query.Text(1), query.Text(2), query.Text(3),
          query.Int(4),  query.Text(5), query.Text(6)};
}

}  // namespace

Result<std::vector<BindingRow>> SqliteTxn::Bindings(std::string_view project) {
  Query query(db_,
              "SELECT id, project, cluster, version, json FROM bindings WHERE ?1 = '' OR project = ?1 "
              "ORDER BY project, cluster");
  query.Bind(project);
  return AllRows(
      query, [](const Query& q) { return BindingRow{q.Text(0), q.Text(1), q.Text(2), q.Int(3), q.Text(4)}; });
}

Result<void> SqliteTxn::PutBinding(const BindingRow& row) {
  Query put(db_,
            "INSERT INTO bindings (id, project, cluster, version, json) VALUES (?1, ?2, ?3, ?4, ?5) "
            "ON CONFLICT (id) DO UPDATE SET project = ?2, cluster = ?3, version = ?4, json = ?5");
  put.Bind(row.id, row.project, row.cluster, row.version, row.json);
  return put.Run();
}

Result<void> SqliteTxn::DeleteBinding(std::string_view id) {
  Query remove(db_, "DELETE FROM bindings WHERE id = ?1");
  remove.Bind(id);
  return remove.Run();
}

Result<std::vector<ReservationRow>> SqliteTxn::LiveReservations(std::string_view binding_id) {
  if (binding_id.empty()) {
    Query all(
        db_,
        "SELECT workload_uid, attempt, binding_id, pool, resource, milli, format, state FROM reservations "
        "WHERE state <> 2 ORDER BY id");
    return AllRows(all, ReadReservation);
  }
  Query query(
      db_,
      "SELECT workload_uid, attempt, binding_id, pool, resource, milli, format, state FROM reservations "
      "WHERE state <> 2 AND binding_id = ?1 ORDER BY id");
  query.Bind(binding_id);
  return AllRows(query, ReadReservation);
}

Result<std::vector<ReservationRow>> SqliteTxn::ReservationsOf(std::string_view workload_uid) {
  Query query(
      db_,
      "SELECT workload_uid, attempt, binding_id, pool, resource, milli, format, state FROM reservations "
      "WHERE workload_uid = ?1 ORDER BY id");
  query.Bind(workload_uid);
  return AllRows(query, ReadReservation);
}

Result<void> SqliteTxn::Reserve(const std::vector<ReservationRow>& rows) {
  for (const ReservationRow& row : rows) {
    if (row.amount.IsNegative() || !row.amount.IsWholeMilli())
      return Fail(Code::kInvalid, "a reservation of " + row.amount.ToString() + " " + row.resource +
                                      ": must be zero or more, in whole thousandths");
    Query put(
        db_,
        "INSERT INTO reservations (workload_uid, attempt, binding_id, pool, resource, milli, format, state) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    put.Bind(row.workload_uid, row.attempt, row.binding_id, row.pool, row.resource,
             DecimalText(row.amount.nano() / kNanoPerMilli), static_cast<int>(row.amount.format()),
             static_cast<int>(row.state));
    RETURN_IF_ERROR(put.Run());
  }
  return {};
}

Result<int> SqliteTxn::SetReservationState(std::string_view workload_uid, int32_t attempt,
                                           ReservationState state) {
  Query set(db_,
            "UPDATE reservations SET state = ?3 WHERE workload_uid = ?1 AND attempt = ?2 AND state <> ?4 "
            "AND state <> ?3");
  set.Bind(workload_uid, attempt, static_cast<int>(state), kReleased);
  RETURN_IF_ERROR(set.Run());
  return static_cast<int>(set.Changes());
}

Result<std::optional<WorkloadRow>> SqliteTxn::GetWorkload(std::string_view uid) {
  Query query(db_,
              "SELECT uid, kind, project, name, arrival, phase, binding_id FROM workloads WHERE uid = ?1");
  query.Bind(uid);
  return OneRow(query, ReadWorkload);
}

Result<std::vector<WorkloadRow>> SqliteTxn::WorkloadsInPhase(std::string_view phase,
                                                             std::string_view project) {
  Query query(db_,
              "SELECT uid, kind, project, name, arrival, phase, binding_id FROM workloads "
              "WHERE phase = ?1 AND (?2 = '' OR project = ?2) ORDER BY arrival");
  query.Bind(phase, project);
  return AllRows(query, ReadWorkload);
}

Result<void> SqliteTxn::PutWorkload(WorkloadRow& row) {
  if (row.arrival == 0) {
    // The counter stands apart from the rows, so that a number is never given twice.
    ASSIGN_OR_RETURN(const std::optional<std::string> counter, GetMeta("arrivals"));
    int64_t last = 0;
    if (counter) std::from_chars(counter->data(), counter->data() + counter->size(), last);
    row.arrival = last + 1;
    RETURN_IF_ERROR(PutMeta("arrivals", std::to_string(row.arrival)));
  }
  Query put(db_,
            "INSERT INTO workloads (uid, kind, project, name, arrival, phase, binding_id) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (uid) DO UPDATE SET kind = ?2, project = ?3, "
            "name = ?4, "
            "arrival = ?5, phase = ?6, binding_id = ?7");
  put.Bind(row.uid, row.kind, row.project, row.name, row.arrival, row.phase, row.binding_id);
  return put.Run();
}

Result<void> SqliteTxn::DeleteWorkload(std::string_view uid) {
  Query remove(db_, "DELETE FROM workloads WHERE uid = ?1");
  remove.Bind(uid);
  return remove.Run();
}

Result<std::optional<SentMark>> SqliteTxn::GetSentMark(std::string_view workload_uid, int32_t attempt) {
  Query query(db_,
              "SELECT workload_uid, attempt, cluster, cluster_identity, namespace_uid, at FROM sent_marks "
              "WHERE workload_uid = ?1 AND attempt = ?2");
  query.Bind(workload_uid, attempt);
  return OneRow(query, [](const Query& q) {
    return SentMark{q.Text(0), static_cast<int32_t>(q.Int(1)), q.Text(2), q.Text(3), q.Text(4), q.At(5)};
  });
}

Result<void> SqliteTxn::PutSentMark(const SentMark& mark) {
  Query put(db_,
            "INSERT INTO sent_marks (workload_uid, attempt, cluster, cluster_identity, namespace_uid, at) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  put.Bind(mark.workload_uid, mark.attempt, mark.cluster, mark.cluster_identity, mark.namespace_uid, mark.at);
  return put.Run();
}

}  // namespace cubeplane::storage::sqlite
