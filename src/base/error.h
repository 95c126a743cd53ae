// What went wrong, as a value: a canonical code, a reason a machine can test, a sentence, and the fields at
// fault.
//
// The callee gives the reason, the caller adds what it was doing (`Wrap`), the one who drops the error logs
// it once. Errors are plain values: copyable, movable, safe to hand between threads.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubeplane {

// Canonical codes. `HttpStatus`, `StatusReason` and `Retryable` are one table in error.cc.
enum class Code {
  kInvalid,           // 422: well-formed, but not allowed; `fields` say where
  kBadRequest,        // 400: cannot be read at all
  kUnauthenticated,   // 401
  kForbidden,         // 403: signed in, but may not
  kQuotaExceeded,     // 403: a quota or limit range refuses
  kNotFound,          // 404
  kMethodNotAllowed,  // 405
  kAlreadyExists,     // 409
  kConflict,          // 409: the object has changed since it was read
  kGone,              // 410: a resource version or a link that is no longer served
  kTooLarge,          // 413
  kUnsupported,       // 415: media type
  kTooMany,           // 429: rate or concurrency limit
  kInternal,          // 500: a bug of ours
  kUnavailable,       // 503: a part is not there now
  kTimeout,           // 504
  kStoreFull,         // 507: the store cannot take writes (full, read-only, damaged); nothing was saved
  kCancelled,         // 499: the caller gave up or the program stops
};

// One field that is not as it must be.
struct FieldProblem {
  std::string path;     // "spec.resources.cpu", "metadata.name", "[2].spec.image"
  std::string found;    // what stood there, cut to 200 bytes
  std::string allowed;  // what may stand there, in plain words
  bool operator==(const FieldProblem&) const = default;
};

using Params = std::vector<std::pair<std::string, std::string>>;

struct Error {
  Code code = Code::kInternal;
  std::string message;               // English sentence; what a log shows. No secret ever stands in it.
  std::string reason;                // a code of api/reasons.yaml, "" when there is none
  Params params;                     // the parameters of that code's sentence
  std::vector<FieldProblem> fields;  // for kInvalid and kBadRequest

  Error() = default;
  Error(Code code, std::string message) : code(code), message(std::move(message)) {}
  Error(Code code, std::string reason, Params params, std::string message)
      : code(code), message(std::move(message)), reason(std::move(reason)), params(std::move(params)) {}

  // The same error with what the caller was doing in front: "opening ledger.db: disk is full".
  Error Wrap(std::string_view doing) const;
};

// HTTP status of a code, 400..599.
int HttpStatus(Code code);
// The word Kubernetes' Status.reason uses for it ("NotFound", "AlreadyExists", "Forbidden", …).
std::string_view StatusReason(Code code);
// True when the same request may succeed later without a change (back off first).
bool Retryable(Code code);
// The canonical code for a HTTP status; `reason` (Status.reason) tells 409 Conflict from AlreadyExists.
Code CodeFromHttp(int status, std::string_view status_reason);
// "NotFound", for logs.
std::string_view CodeName(Code code);

}  // namespace cubeplane
