// Pieces of text that the JSON and the YAML side share. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace cubeplane::json {

// A number as JSON writes it; doubles keep a point or an exponent, what is not finite becomes null.
void AppendNumber(std::string& out, const Value& value);
// A string in double quotes with JSON's escapes, which are YAML's too.
void AppendQuoted(std::string& out, std::string_view text);
// What a plain YAML scalar means in the core schema: null, a boolean, a number, or the text itself. nullopt
// for `.inf`,
// `.nan` and numbers beyond a double, which JSON cannot hold.
std::optional<Value> TypePlainScalar(std::string_view text);

}  // namespace cubeplane::json
