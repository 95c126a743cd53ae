// The session cookie and the origin that a browser must send with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/context.h"

namespace cubeplane::apiserver {

// The value of a cookie; nullopt when it is absent or there twice.
std::optional<std::string> Cookie(const http::Request& request, std::string_view name);
// "<name>=<value>; Path=/; Max-Age=…; Secure; HttpOnly; SameSite=Lax". Zero seconds take it out.
std::string SetCookie(std::string_view name, std::string_view value, int64_t max_age_seconds);
// The origin that was asked: "http://localhost:8080", with the port of the Host header (`ssh -L` may change
// it).
std::string AskedOrigin(const http::Request& request);
// ":8080" of the Host header, "" without.
std::string AskedPort(const http::Request& request);
// Is this sent by a page of the same origin? Origin, or without it Sec-Fetch-Site: same-origin.
Result<void> CheckSameOrigin(const http::Request& request);
// After sessions have ended: the gateway forgets them, their streams are closed.
async::Task<Result<void>> ForgetSessions(Context& context, std::vector<std::string> hashes);

}  // namespace cubeplane::apiserver
