// Reading and writing JSON text, and reading YAML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cubeplane::json {

struct Limits {
  size_t max_bytes = 8u << 20;
  size_t max_depth = 64;
  size_t max_nodes = 1'000'000;  // YAML: values after aliases are expanded
};

// Strict RFC 8259, UTF-8; duplicate keys are refused. Errors: kBadRequest ("JSON at byte 17: …"), kTooLarge.
Result<Value> Parse(std::string_view text, const Limits& limits = {});

// Compact, members in their order. Control characters, U+2028/9 and invalid UTF-8 are escaped or replaced.
std::string Write(const Value& value);
// Indented by two blanks.
std::string WritePretty(const Value& value);
// Compact with members sorted by key, for hashing and comparing.
std::string WriteCanonical(const Value& value);

// Every document of a YAML 1.2 stream, plain scalars typed by the core schema (so `no` is a string, `012` is
// 12, `1e3` a number); `!!str`-quoted scalars stay strings. Duplicate keys, aliases beyond the limits and
// tags other than the core schema's are refused. Empty documents are left out. Errors: kBadRequest with line
// and column.
Result<std::vector<Value>> ParseYaml(std::string_view text, const Limits& limits = {});
// Block style, strings quoted where they would read as something else.
std::string WriteYaml(const Value& value);

}  // namespace cubeplane::json
