// Who may ask the engine: bearer tokens, each an identity with a role.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/api/request.h"

namespace cubeplane::engine {

struct Credential {
  std::string token;  // at least 16 characters of chance
  std::string user;   // "system:admin", "cubeplane"
  // kViewer: get, list and watch of everything but Secrets.
  enum class Role { kFull, kViewer } role = Role::kFull;
};

// Threading: immutable after construction. Holds SHA-256 sums only; comparing takes the same time for every
// token.
class Authenticator {
 public:
  explicit Authenticator(const std::vector<Credential>& credentials);
  // Errors: 401.
  Answer<const Credential*> Authenticate(const http::Request& request) const;

 private:
  struct Entry {
    std::array<unsigned char, 32> sum;
    Credential credential;  // without its token
  };
  std::vector<Entry> entries_;
};

// Errors: 403 in Kubernetes' words.
Answer<void> Authorize(const Credential& who, const ApiRequest& request, const http::Request& raw);

}  // namespace cubeplane::engine
