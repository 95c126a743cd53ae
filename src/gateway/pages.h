// What the gateway itself answers: one row per refusal, as Status JSON for programs and a small page for people, in both languages.
//
// HAProxy looks the body up in a map by "<refusal>.<form>", form = json-en | json-zh | html-en | html-zh; so one rule per HTTP
// status serves all refusals.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cubeplane::gateway {

struct Refusal {
  std::string_view name;    // as the configuration's rules set it in txn.why
  int status;
  std::string_view reason;  // Status.reason
  std::string_view en, zh;
  std::string_view next_en, next_zh;  // what the person can do; "" when nothing
};

std::span<const Refusal> Refusals();
// The content of the map file. Each body is one line.
std::string PagesMap();

}  // namespace cubeplane::gateway
