#include "apiserver/session_cookie.h"

namespace cubeplane::apiserver {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::string> Cookie(const http::Request& request, std::string_view name) {
  if (request.headers.Count("Cookie") > 1) return std::nullopt;
  std::optional<std::string> value;
  std::string_view rest = request.headers.Get("Cookie");
  while (!rest.empty()) {
    const size_t end = rest.find(';');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || Trim(pair.substr(0, equals)) != name) continue;
    if (value) return std::nullopt;
    value = std::string(Trim(pair.substr(equals + 1)));
  }
  return value;
}

std::string SetCookie(std::string_view name, std::string_view value, int64_t max_age_seconds) {
  return std::string(name) + "=" + std::string(value) +
         "; Path=/; Max-Age=" + std::to_string(max_age_seconds) + "; Secure; HttpOnly; SameSite=Lax";
}

std::string AskedOrigin(const http::Request& request) {
  const std::string_view proto = request.headers.Get("X-Forwarded-Proto");
  return std::string(proto == "https" ? "https" : "http") + "://" + std::string(request.headers.Get("Host"));
}

std::string AskedPort(const http::Request& request) {
  const std::string_view host = request.headers.Get("Host");
  const size_t colon = host.rfind(':');
  return colon == std::string_view::npos ? std::string() : std::string(host.substr(colon));
}

Result<void> CheckSameOrigin(const http::Request& request) {
  const std::string_view origin = request.headers.Get("Origin");
  const bool same = origin.empty() || origin == "null"
                        ? request.headers.Get("Sec-Fetch-Site") == "same-origin"
                        : origin == AskedOrigin(request);
  if (same) return {};
  return Fail(Error(Code::kForbidden, "foreign_origin",
                    {{"origin", origin.empty() ? "-" : std::string(origin.substr(0, 200))}},
                    "the request comes from another origin"));
}

async::Task<Result<void>> ForgetSessions(Context& context, std::vector<std::string> hashes) {
  for (const std::string& hash : hashes) context.streams.CloseCredential(hash);
  Result<void> done = co_await context.parts.entry.EndSessions(std::move(hashes));
  co_return done;
}

}  // namespace cubeplane::apiserver
