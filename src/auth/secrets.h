// Hashes of secrets. Hides libsodium.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"

namespace cubeplane::auth {

// 256 random bits as 64 hexadecimal characters. Cookies, tokens and links are such, so a plain Sha256Hex
// (base/strings.h) is enough to store them by.
std::string NewSecret(Random& random);
// Equal in time that depends on the lengths only.
bool SameSecret(std::string_view a, std::string_view b);

// Cost of a password hash: argon2id passes and bytes.
struct HashCost {
  uint64_t operations = 2;
  size_t memory = 64u << 20;
};
// Blocks for about 100 ms at the default cost: run it on a pool. kUnavailable when the memory is not to be
// had.
Result<std::string> HashPassword(const std::string& password, HashCost cost);
bool VerifyPassword(const std::string& hash, const std::string& password);

}  // namespace cubeplane::auth
