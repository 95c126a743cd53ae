// Files of the person: manifests, the saved log-in.
#pragma once

#include <string>

#include "base/result.h"

namespace cubeplane::cli {

// The whole file, or all of stdin for "-". kNotFound, kForbidden; kTooLarge beyond `max_bytes`.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);
// Makes missing folders (0700) and replaces the file as a whole, with mode 0600.
Result<> WriteSecretFile(const std::string& path, const std::string& content);

}  // namespace cubeplane::cli
