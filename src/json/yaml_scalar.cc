// The YAML 1.2 core schema for plain scalars (section 10.3.2 of the specification).
#include <charconv>
#include <cmath>

#include "json/text.h"

namespace cubeplane::json {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool IsNumber(std::string_view text, bool& integer) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const size_t whole = SkipDigits(text, at) - at;
  at += whole;
  integer = whole > 0 && at == text.size();
  if (integer) return true;
  size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = SkipDigits(text, at + 1) - (at + 1);
    at += 1 + fraction;
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const size_t exponent = SkipDigits(text, at) - at;
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

std::optional<Value> ReadDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return Value(value);
}

std::optional<Value> ReadInteger(std::string_view text, int base) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc() && end == text.data() + text.size()) return Value(value);
  if (error == std::errc::result_out_of_range && base == 10) return ReadDouble(text);
  return std::nullopt;
}

// 0o17 and 0x1F: the whole text is of that base, or it is no number.
bool IsBased(std::string_view text, std::string_view prefix, std::string_view digits) {
  return text.size() > prefix.size() && text.starts_with(prefix) &&
         text.find_first_not_of(digits, prefix.size()) == std::string_view::npos;
}

bool IsInfinityOrNan(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text == ".inf" || text == ".Inf" || text == ".INF";
}

}  // namespace

std::optional<Value> TypePlainScalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Value();
  if (text == "true" || text == "True" || text == "TRUE") return Value(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false);
  if (IsInfinityOrNan(text)) return std::nullopt;
  if (IsBased(text, "0o", "01234567")) return ReadInteger(text.substr(2), 8);
  if (IsBased(text, "0x", "0123456789abcdefABCDEF")) return ReadInteger(text.substr(2), 16);
  bool integer = false;
  if (!IsNumber(text, integer)) return Value(text);
  if (text[0] == '+') text.remove_prefix(1);  // from_chars takes no plus
  return integer ? ReadInteger(text, 10) : ReadDouble(text);
}

}  // namespace cubeplane::json
