// Unpacks a code archive (a gzipped tar) that a person sent: hostile input, handled by a privileged process.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace cubeplane::engine::node {

inline constexpr int64_t kMaxUnpackedBytes = 64ll << 20;
inline constexpr int kMaxArchiveEntries = 20'000;

// Unpacks below the folder `dir`, which should be empty. Files become 0644 (0755 when executable), folders
// 0755, owned by the caller. Refused (kInvalid, with the entry's name): absolute paths, "..", links that lead
// out of the folder, hard links, devices, anything below a link, more bytes or entries than the bounds,
// damaged archives. What was unpacked before the fault stays: the caller removes the folder.
Result<void> UnpackArchive(std::string_view gzipped_tar, int dir);

}  // namespace cubeplane::engine::node
