// What the gateway itself answers: one row per refusal, as Status JSON for programs and a small page for
// people, in both languages. The sentences are those of api/reasons.yaml, code "gateway_<name>".
//
// HAProxy looks the body up in a map by "<refusal>.<form>", form = json-en | json-zh | html-en | html-zh; so
// one rule per HTTP status serves all refusals.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cubeplane::gateway {

struct Refusal {
  std::string_view name;  // as the configuration's rules set it in txn.why
  int status;
  std::string_view reason;  // Status.reason
};

std::span<const Refusal> Refusals();
// The content of the map file. Each body is one line.
std::string PagesMap();

}  // namespace cubeplane::gateway
