#include "gateway/lines.h"

#include <algorithm>

namespace cubeplane::gateway {
namespace {

constexpr size_t kMaxUser = 128;
constexpr size_t kMaxHost = 253;
constexpr size_t kMaxSocketPath = 100;  // sun_path holds 108; HAProxy adds a suffix while it binds

bool IsAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool AllOf(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return IsAlnum(c) || others.contains(c); });
}

std::unexpected<Error> Bad(std::string_view field, std::string_view found, std::string_view allowed) {
  Error error(Code::kInvalid, std::string(field) + " cannot be used at the gateway: " + std::string(allowed));
  error.fields.push_back({std::string(field), std::string(found.substr(0, 200)), std::string(allowed)});
  return Fail(std::move(error));
}

bool IsHost(std::string_view host) {
  if (host.empty() || host.size() > kMaxHost) return false;
  size_t label = 0;
  for (size_t i = 0; i <= host.size(); ++i) {
    if (i == host.size() || host[i] == '.') {
      if (label == 0 || label > 63 || host[i - 1] == '-') return false;
      label = 0;
    } else if (IsLowerAlnum(host[i]) || (host[i] == '-' && label > 0)) {
      ++label;
    } else {
      return false;
    }
  }
  return true;
}

bool IsUser(std::string_view user) {
  return !user.empty() && user.size() <= kMaxUser && AllOf(user, "._@+-");
}

}  // namespace

bool IsWord(std::string_view word) {
  return !word.empty() && word.size() <= kMaxWord && AllOf(word, "._:@/|+=~-");
}

Result<std::string> AdminLine(const std::vector<std::string_view>& words) {
  std::string line;
  for (std::string_view word : words) {
    if (!IsWord(word))
      return Fail(Code::kInvalid, "a word of an admin command has a character that is not allowed");
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (line.empty() || line.size() >= kMaxLine)
    return Fail(Code::kInvalid, "an admin command is empty or too long");
  line += '\n';
  return line;
}

Result<void> CheckSocketPath(std::string_view path, std::string_view field) {
  if (path.size() < 2 || path.size() > kMaxSocketPath || path[0] != '/' || !AllOf(path, "._/@+-") ||
      path.contains("..") || path.contains("//")) {
    return Bad(field, path,
               "an absolute path of at most 100 bytes, of letters, digits and ._/@+-, without ..");
  }
  return {};
}

Result<void> CheckRoute(const state::Route& route, std::string_view domain,
                        const std::vector<std::string>& reserved) {
  const std::string suffix = "." + std::string(domain);
  if (!IsHost(route.host) || !route.host.ends_with(suffix)) {
    return Bad("host", route.host, "lower-case DNS labels below " + std::string(domain));
  }
  if (!IsUser(route.owner)) return Bad("owner", route.owner, "at most 128 letters, digits and ._@+-");
  if (route.instance.empty() || route.instance.size() > 64 || !AllOf(route.instance, "-")) {
    return Bad("instance", route.instance, "a UID: at most 64 letters, digits and -");
  }
  if (route.secret.size() < 16 || route.secret.size() > 256 || !AllOf(route.secret, "._~+/=-")) {
    return Bad("secret", "", "16 to 256 letters, digits and ._~+/=-");
  }
  const std::string_view upstream = route.upstream;
  if (!upstream.starts_with("unix@")) return Bad("upstream", upstream, "unix@ and an absolute path");
  const std::string_view path = upstream.substr(5);
  RETURN_IF_ERROR(CheckSocketPath(path, "upstream"));
  // The admin socket takes commands from a request body; the platform's socket trusts our headers.
  if (std::ranges::find(reserved, path) != reserved.end()) {
    return Bad("upstream", upstream, "a workload's door, not a socket of the gateway");
  }
  return {};
}

Result<void> CheckSession(const state::OriginSession& session) {
  const bool is_hash = session.id_hash.size() == 64 && std::ranges::all_of(session.id_hash, [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
  if (!is_hash) return Bad("id_hash", "", "64 lower-case hexadecimal digits");
  if (!IsUser(session.user)) return Bad("user", session.user, "at most 128 letters, digits and ._@+-");
  if (!IsHost(session.host)) return Bad("host", session.host, "lower-case DNS labels");
  return {};
}

}  // namespace cubeplane::gateway
