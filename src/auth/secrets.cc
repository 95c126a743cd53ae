#include "auth/secrets.h"

#include <sodium.h>

#include <cstdlib>

namespace cubeplane::auth {
namespace {

void Ready() {
  static const int ready = sodium_init();
  if (ready < 0) std::abort();
}

}  // namespace

std::string NewSecret(Random& random) { return random.Hex(32); }

bool SameSecret(std::string_view a, std::string_view b) {
  Ready();
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::string> HashPassword(const std::string& password, HashCost cost) {
  Ready();
  char hash[crypto_pwhash_STRBYTES] = {};
  if (crypto_pwhash_str_alg(hash, password.data(), password.size(), cost.operations, cost.memory,
                            crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return Fail(Code::kUnavailable, "hashing a password: out of memory");
  }
  return std::string(hash);
}

bool VerifyPassword(const std::string& hash, const std::string& password) {
  Ready();
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace cubeplane::auth
