// Words and lines for HAProxy: the one place where text of users, tenants and clusters becomes part of an
// admin command, a map or the configuration. Everything is an allow-list; nothing is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/entry.h"

namespace cubeplane::gateway {

inline constexpr size_t kMaxWord = 512;
inline constexpr size_t kMaxLine = 4096;  // below tune.bufsize, which cuts a command

// Letters, digits and `._:@/|+=~-`: no blank, newline, `;`, `\`, quote, `#`, `%`, `$` or `<`, which mean
// something to HAProxy.
bool IsWord(std::string_view word);
// "word word word\n". Errors: kInvalid when a word is empty, too long or has another character, or the line
// is too long.
Result<std::string> AdminLine(const std::vector<std::string_view>& words);

// kInvalid with the field when a route or session cannot be told to HAProxy. `reserved` are sockets no route
// may lead to.
Result<void> CheckRoute(const state::Route& route, std::string_view domain,
                        const std::vector<std::string>& reserved);
Result<void> CheckSession(const state::OriginSession& session);
// A folder or socket path that may stand in the configuration: absolute, at most 100 bytes,
// `[A-Za-z0-9._/@+-]`, no `..`.
Result<void> CheckSocketPath(std::string_view path, std::string_view field);

}  // namespace cubeplane::gateway
