// User ids of tenants, machine-wide: every tenant of every instance has its own, and none is ever handed out
// twice.
//
// The registry is a folder with a lock and an append-only list; instances on one machine share it. Entries
// are never removed: files that a removed tenant left behind must not fall to another. Threading: calls take
// the file lock; safe across processes.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace cubeplane::engine::node {

// The range: above everything that Debian, systemd and container engines hand out, within 31 bits.
inline constexpr uid_t kFirstUid = 1'900'000'000;
inline constexpr uid_t kLastUid = 1'999'999'999;

// The id of the tenant, a new one when it has none. `folder` is made when absent (0700).
// kStoreFull: the disk refuses the entry. kUnavailable: the registry is damaged or used up; nothing is handed
// out then.
Result<uid_t> TenantUid(const std::string& folder, const std::string& instance, const std::string& tenant);

}  // namespace cubeplane::engine::node
