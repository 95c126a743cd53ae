// The audit log's chain of hashes.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "storage/store.h"

namespace cubeplane::storage {

// SHA-256 over every field of `row` (each with its length before it) and `row.previous_hash`; `row.hash` is
// not read.
std::string AuditHash(const AuditRow& row);

// What stands before the first record.
inline constexpr std::string_view kAuditStart =
    "0000000000000000000000000000000000000000000000000000000000000000";

struct AuditCheck {
  int64_t records = 0;                  // that were read
  std::optional<int64_t> first_broken;  // its number
  std::string problem;                  // a sentence, when broken
};
// Reads the whole chain. A changed, missing or inserted record is found, and the first is named; records cut
// off at the end are not: compare `records` with a figure kept elsewhere. Errors: of the store only.
Result<AuditCheck> VerifyAudit(Reader& reader);

}  // namespace cubeplane::storage
