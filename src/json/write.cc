#include <algorithm>
#include <charconv>
#include <cmath>

#include "json/builder.h"
#include "json/json.h"
#include "json/text.h"

namespace cubeplane::json {

void AppendNumber(std::string& out, const Value& value) {
  char buffer[40];
  if (value.IsInt()) {
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value.AsInt());
    out.append(buffer, end);
    return;
  }
  const double number = value.AsDouble();
  if (!std::isfinite(number)) {
    out += "null";  // JSON has no word for it
    return;
  }
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  const std::string_view digits(buffer, end);
  out += digits;
  // So that it is read back as the double it was.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

namespace {

void AppendEscape(std::string& out, unsigned code) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xF];
}

void AppendControl(std::string& out, unsigned char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      AppendEscape(out, c);
  }
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const size_t length = Utf8Length(text, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";  // U+FFFD for what is no UTF-8
      ++at;
      continue;
    }
    if (c < 0x20 || c == 0x7F) {
      AppendControl(out, c);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (length == 3 && text.substr(at, 2) == "\xE2\x80" &&
               (text[at + 2] == '\xA8' || text[at + 2] == '\xA9')) {
      AppendEscape(out, text[at + 2] == '\xA8' ? 0x2028 : 0x2029);  // line ends in JavaScript
    } else {
      out += text.substr(at, length);
    }
    at += length;
  }
  out += '"';
}

namespace {

struct Style {
  int indent = -1;      // blanks per level; < 0: compact
  bool sorted = false;  // members by key
};

void NewLine(std::string& out, const Style& style, int level) {
  if (style.indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(style.indent) * static_cast<size_t>(level), ' ');
}

void Append(std::string& out, const Value& value, const Style& style, int level);

void AppendObject(std::string& out, const Object& object, const Style& style, int level) {
  std::vector<const Object::Member*> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  if (style.sorted)
    std::ranges::sort(members, {}, [](const Object::Member* member) { return member->first; });
  out += '{';
  bool first = true;
  for (const Object::Member* member : members) {
    if (!std::exchange(first, false)) out += ',';
    NewLine(out, style, level + 1);
    AppendQuoted(out, member->first);
    out += style.indent < 0 ? ":" : ": ";
    Append(out, member->second, style, level + 1);
  }
  if (!first) NewLine(out, style, level);
  out += '}';
}

void Append(std::string& out, const Value& value, const Style& style, int level) {
  if (value.IsNull()) {
    out += "null";
  } else if (value.IsBool()) {
    out += value.AsBool() ? "true" : "false";
  } else if (value.IsNumber()) {
    AppendNumber(out, value);
  } else if (value.IsString()) {
    AppendQuoted(out, value.AsString());
  } else if (value.IsObject()) {
    AppendObject(out, value.AsObject(), style, level);
  } else {
    out += '[';
    bool first = true;
    for (const Value& item : value.AsArray()) {
      if (!std::exchange(first, false)) out += ',';
      NewLine(out, style, level + 1);
      Append(out, item, style, level + 1);
    }
    if (!first) NewLine(out, style, level);
    out += ']';
  }
}

std::string WriteStyled(const Value& value, const Style& style) {
  std::string out;
  Append(out, value, style, 0);
  return out;
}

}  // namespace

std::string Write(const Value& value) { return WriteStyled(value, {}); }
std::string WritePretty(const Value& value) { return WriteStyled(value, {.indent = 2}); }
std::string WriteCanonical(const Value& value) { return WriteStyled(value, {.sorted = true}); }

}  // namespace cubeplane::json
