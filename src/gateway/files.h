// Files that survive a loss of power, and folders that nobody else reads. Blocking; call off the control
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cubeplane::gateway {

// Writes a neighbour file (mode 0600), syncs it, renames it over `path`, syncs the folder. Errors: kStoreFull
// when the disk is full, else kUnavailable.
Result<void> WriteDurably(const std::string& path, std::string_view content);
// Errors: kNotFound, kTooLarge above `max_bytes`, kUnavailable.
Result<std::string> ReadWhole(const std::string& path, size_t max_bytes);
// Makes the folder (0700) when absent; refuses one of another user or open to others.
Result<void> PrivateFolder(const std::string& path);

}  // namespace cubeplane::gateway
