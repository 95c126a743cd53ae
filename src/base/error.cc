#include "base/error.h"

#include <array>

namespace cubeplane {
namespace {

struct Row {
  Code code;
  int http;
  std::string_view name;
  std::string_view status_reason;  // Kubernetes' metav1.StatusReason
  bool retry;
};

constexpr std::array kRows = {
    Row{Code::kInvalid, 422, "Invalid", "Invalid", false},
    Row{Code::kBadRequest, 400, "BadRequest", "BadRequest", false},
    Row{Code::kUnauthenticated, 401, "Unauthenticated", "Unauthorized", false},
    Row{Code::kForbidden, 403, "Forbidden", "Forbidden", false},
    Row{Code::kQuotaExceeded, 403, "QuotaExceeded", "Forbidden", false},
    Row{Code::kNotFound, 404, "NotFound", "NotFound", false},
    Row{Code::kMethodNotAllowed, 405, "MethodNotAllowed", "MethodNotAllowed", false},
    Row{Code::kAlreadyExists, 409, "AlreadyExists", "AlreadyExists", false},
    Row{Code::kConflict, 409, "Conflict", "Conflict", true},
    Row{Code::kGone, 410, "Gone", "Expired", false},
    Row{Code::kTooLarge, 413, "TooLarge", "RequestEntityTooLarge", false},
    Row{Code::kUnsupported, 415, "Unsupported", "UnsupportedMediaType", false},
    Row{Code::kTooMany, 429, "TooMany", "TooManyRequests", true},
    Row{Code::kInternal, 500, "Internal", "InternalError", true},
    Row{Code::kUnavailable, 503, "Unavailable", "ServiceUnavailable", true},
    Row{Code::kTimeout, 504, "Timeout", "Timeout", true},
    Row{Code::kStoreFull, 507, "StoreFull", "InsufficientStorage", true},
    Row{Code::kCancelled, 499, "Cancelled", "Cancelled", false},
};

const Row& Find(Code code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row;
  }
  return kRows[13];
}

}  // namespace

Error Error::Wrap(std::string_view doing) const {
  Error wrapped = *this;
  wrapped.message = std::string(doing) + ": " + message;
  return wrapped;
}

int HttpStatus(Code code) { return Find(code).http; }
std::string_view StatusReason(Code code) { return Find(code).status_reason; }
bool Retryable(Code code) { return Find(code).retry; }
std::string_view CodeName(Code code) { return Find(code).name; }

Code CodeFromHttp(int status, std::string_view status_reason) {
  for (const Row& row : kRows) {
    if (row.http == status && row.status_reason == status_reason) return row.code;
  }
  for (const Row& row : kRows) {
    if (row.http == status && row.code != Code::kAlreadyExists) return row.code;
  }
  if (status == 502) return Code::kUnavailable;
  return status >= 500 ? Code::kInternal : Code::kBadRequest;
}

}  // namespace cubeplane
