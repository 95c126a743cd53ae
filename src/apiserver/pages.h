// The few pages that the API server itself shows: plain HTML, no script, English and Chinese.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/message.h"
#include "model/reasons.h"

namespace cubeplane::apiserver {

std::string EscapeHtml(std::string_view text);

http::Response LoginFormPage(int status, std::string_view next, std::string_view message,
                             model::Language language);
struct HomeEntry {
  std::string name, phase, address;  // address empty: cannot be opened now
};
http::Response HomePage(std::string_view user, const std::vector<HomeEntry>& notebooks,
                        model::Language language);
// The button that redeems a one-time link.
http::Response OpenButtonPage(std::string_view link, std::string_view host, model::Language language);
// "Start again", with a link to the origin's first page.
http::Response StartAgainPage(model::Language language);
http::Response ErrorPage(const Error& error, model::Language language);
// 303 to `location`.
http::Response Redirect(std::string location);

// Where to go after signing in: a path of the same origin, beginning with exactly one slash, without `\`,
// control characters, `//` or `..` in the path, and not below /.cubeplane; anything else becomes "/".
std::string SafeNext(std::string_view next);

}  // namespace cubeplane::apiserver
