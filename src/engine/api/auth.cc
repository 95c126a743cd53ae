#include "engine/api/auth.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace cubeplane::engine {
namespace {

std::array<unsigned char, 32> Sum(std::string_view token) {
  std::array<unsigned char, 32> sum{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), sum.data());
  return sum;
}

}  // namespace

Authenticator::Authenticator(const std::vector<Credential>& credentials) {
  for (const Credential& credential : credentials) {
    entries_.push_back({Sum(credential.token), {"", credential.user, credential.role}});
  }
}

Answer<const Credential*> Authenticator::Authenticate(const http::Request& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = request.headers.Get("Authorization");
  if (!header.starts_with(kScheme) || request.headers.Count("Authorization") != 1)
    return Refuse(Unauthorized());
  const auto sum = Sum(header.substr(kScheme.size()));
  const Credential* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(sum.data(), entry.sum.data(), sum.size()) == 0) found = &entry.credential;
  }
  if (found == nullptr) return Refuse(Unauthorized());
  return found;
}

Answer<void> Authorize(const Credential& who, const ApiRequest& request, const http::Request& raw) {
  if (who.role == Credential::Role::kFull) return {};
  if (request.kind == nullptr) {
    if (raw.method == "GET" || raw.method == "HEAD") return {};
    return Refuse({403, "Forbidden",
                   "forbidden: User \"" + who.user + "\" cannot " + raw.method + " path \"" +
                       std::string(raw.path()) + "\"",
                   json::Object{}});
  }
  const bool reads = request.verb == "get" || request.verb == "list" || request.verb == "watch";
  if (reads && request.kind->kind != "Secret") return {};
  const Kind& kind = *request.kind;
  std::string why = "User \"" + who.user + "\" cannot " + request.verb + " resource \"" + kind.plural +
                    (request.subresource.empty() ? "" : "/" + request.subresource) + "\" in API group \"" +
                    kind.group + "\"";
  why += request.namespace_name.empty() ? " at the cluster scope"
                                        : " in the namespace \"" + request.namespace_name + "\"";
  return Refuse(ForbiddenError(kind, request.name, why));
}

}  // namespace cubeplane::engine
