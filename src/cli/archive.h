// A folder packed as a job's code: a gzipped tar that is the same for the same content.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cubeplane::cli {

inline constexpr size_t kMaxArchive = 700u << 10;  // compressed
inline constexpr size_t kMaxUnpacked = 64u << 20;
inline constexpr size_t kMaxFiles = 5000;
inline constexpr const char* kIgnoreFile = ".cubeplaneignore";

// One rule a line as in .gitignore: `*.bin`, `data/`, `/top.txt`, `a/**/b`, `!keep.bin`, `#` comment.
class IgnoreRules {
 public:
  explicit IgnoreRules(std::string_view text);
  // `path` is relative, with `/`; the last rule that matches decides.
  bool Ignores(const std::string& path, bool folder) const;

 private:
  struct Rule {
    std::string pattern;
    bool keep = false, folders_only = false, anchored = false;
  };
  std::vector<Rule> rules_;
};

struct Packed {
  std::string archive;
  size_t files = 0, bytes = 0;  // before packing
};

// Packs what the ignore file and the built-in rules (.git, __pycache__, …) leave. Errors: kNotFound, kInvalid
// (a symbolic link, a socket, a path over 255 bytes), kTooLarge with the largest files, kForbidden.
Result<Packed> PackFolder(const std::string& folder);

}  // namespace cubeplane::cli
