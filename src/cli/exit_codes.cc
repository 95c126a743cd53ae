#include "cli/exit_codes.h"

namespace cubeplane::cli {
namespace {

// Reasons that a quota, a pool or the size of every node stands behind.
bool IsAboutRoom(std::string_view code) {
  for (const std::string_view start :
       {"quota_", "never_fits", "pool_short", "limit_range_refused", "cluster_quota"}) {
    if (code.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

Exit ExitFor(int http_status, std::string_view code) {
  if (IsAboutRoom(code)) return kQuota;
  if (code == "cluster_silent") return kClusterSilent;
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
