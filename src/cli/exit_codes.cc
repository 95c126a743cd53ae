#include "cli/exit_codes.h"

namespace cubeplane::cli {
namespace {

bool Mentions(std::string_view code, std::string_view word) {
  return code.find(word) != std::string_view::npos;
}

}  // namespace

Exit ExitFor(int http_status, std::string_view code) {
  if (Mentions(code, "quota") || Mentions(code, "never") || Mentions(code, "limit-range")) return kQuota;
  if (Mentions(code, "cluster-silent")) return kClusterSilent;
  switch (http_status) {
    case 401:
    case 403:
      return kNotAllowed;
    case 404:
      return kNotFound;
    case 409:
    case 410:
    case 412:
      return kConflict;
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
      return kInvalid;
    case 408:
    case 504:
      return kTimeout;
    case 502:
    case 503:
      return kNoCubeplane;
    case 507:
      return kStore;
    default:
      return http_status < 400 ? kDone : kFailed;
  }
}

}  // namespace cubeplane::cli
