#include "storage/audit.h"

#include "base/strings.h"

namespace cubeplane::storage {

std::string AuditHash(const AuditRow& row) {
  std::string record;
  const std::string seq = std::to_string(row.seq), at = FormatTime(row.at);
  for (const std::string* field : {&row.previous_hash, &seq, &at, &row.principal, &row.action, &row.object,
                                   &row.request_id, &row.before, &row.after}) {
    record += std::to_string(field->size());
    record += ':';
    record += *field;
  }
  return Sha256Hex(record);
}

Result<AuditCheck> VerifyAudit(Reader& reader) {
  constexpr size_t kPage = 1000;
  AuditCheck check;
  std::string previous(kAuditStart);
  for (;;) {
    ASSIGN_OR_RETURN(const std::vector<AuditRow> rows, reader.Audit(check.records, kPage));
    for (const AuditRow& row : rows) {
      const int64_t expected = check.records + 1;
      if (row.seq != expected) {
        check.first_broken = expected;
        check.problem = "audit record " + std::to_string(expected) + " is missing";
      } else if (row.previous_hash != previous) {
        check.first_broken = row.seq;
        check.problem = "audit record " + std::to_string(row.seq) + " does not follow the record before it";
      } else if (AuditHash(row) != row.hash) {
        check.first_broken = row.seq;
        check.problem = "audit record " + std::to_string(row.seq) + " was changed";
      }
      if (check.first_broken) return check;
      previous = row.hash;
      ++check.records;
    }
    if (rows.size() < kPage) return check;
  }
}

}  // namespace cubeplane::storage
