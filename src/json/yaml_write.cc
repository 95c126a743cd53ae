// Values as YAML in block style, as kubectl prints it.
#include <algorithm>

#include "json/builder.h"
#include "json/json.h"
#include "json/text.h"

namespace cubeplane::json {
namespace {

bool IsAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Words that YAML 1.1 readers, of which there are many, take for booleans.
bool IsOldBoolean(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  static constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off"};
  return std::ranges::find(kWords, lower) != std::end(kWords);
}

// True when the text may stand without quotes and reads back as the same string, in YAML 1.1 as well.
bool IsPlain(std::string_view text) {
  if (text.empty() || FindInvalidUtf8(text) != std::string_view::npos) return false;
  const char first = text.front();
  if (!IsAlnum(first) && first != '/' && first != '_' && first != '.' &&
      static_cast<unsigned char>(first) < 0x80)
    return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0xC3 || IsAlnum(c)) continue;
    if (static_cast<unsigned char>(c) >= 0x80 && i > 0 && static_cast<unsigned char>(text[i - 1]) >= 0x80)
      continue;
    if (std::string_view("_./@+=-%(),;").find(c) != std::string_view::npos) continue;
    if (c == ' ' && text[i + 1] != '#') continue;
    if (c == ':' && text[i + 1] != ' ') continue;
    return false;
  }
  // Old dates, old base-60 numbers, numbers with underscores.
  if (IsDigit(first) && text.find_first_not_of("0123456789:-_.TtZz+ ") == std::string_view::npos)
    return false;
  if (text.find("\xE2\x80\xA8") != std::string_view::npos ||
      text.find("\xE2\x80\xA9") != std::string_view::npos)
    return false;
  if (text.starts_with("...") || text.starts_with("\xEF\xBB\xBF") || text.starts_with("0b") ||
      IsOldBoolean(text))
    return false;
  const std::optional<Value> typed = TypePlainScalar(text);
  return typed && typed->IsString();
}

// Text of several lines that a literal block can hold unchanged.
bool IsLiteral(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') return false;
  if (FindInvalidUtf8(text) != std::string_view::npos) return false;
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\n' || (byte >= 0x20 && byte != 0x7F && byte < 0x80);
  });
}

class Writer {
 public:
  // A value after `key:` or `- `; ends with a newline. `level` is where the lines of a nested object start.
  void Nested(const Value& value, size_t level, bool after_dash) {
    if (value.IsObject() && !value.AsObject().empty()) {
      out_ += after_dash ? " " : "\n";
      Members(value.AsObject(), level, after_dash);
    } else if (value.IsArray() && !value.AsArray().empty()) {
      // A list under a key starts at the key's own column, as kubectl writes it.
      const size_t start = after_dash ? level : level - 2;
      out_ += after_dash ? " " : "\n";
      Items(value.AsArray(), start, after_dash);
    } else {
      out_ += ' ';
      Scalar(value, level);
      out_ += '\n';
    }
  }

  void Members(const Object& object, size_t level, bool first_inline) {
    for (const auto& [key, value] : object) {
      if (!std::exchange(first_inline, false)) Indent(level);
      if (IsPlain(key)) {
        out_ += key;
      } else {
        AppendQuoted(out_, key);
      }
      out_ += ':';
      Nested(value, level + 2, false);
    }
  }

  void Items(const Array& array, size_t level, bool first_inline) {
    for (const Value& item : array) {
      if (!std::exchange(first_inline, false)) Indent(level);
      out_ += '-';
      Nested(item, level + 2, true);
    }
  }

  void Scalar(const Value& value, size_t level) {
    if (value.IsString()) {
      Text(value.AsString(), level);
    } else {
      out_ += Write(value);  // null, booleans, numbers, {} and []
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Indent(size_t level) { out_.append(level, ' '); }

  void Text(const std::string& text, size_t level) {
    if (IsPlain(text)) {
      out_ += text;
    } else if (IsLiteral(text)) {
      Literal(text, std::max<size_t>(level, 2));
    } else {
      AppendQuoted(out_, text);
    }
  }

  void Literal(std::string_view text, size_t level) {
    const bool ends = text.ends_with('\n');
    const bool keeps = text.ends_with("\n\n");
    out_ += keeps ? "|+" : ends ? "|" : "|-";
    if (ends) text.remove_suffix(1);
    while (true) {
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      out_ += '\n';
      if (!line.empty()) Indent(level);
      out_ += line;
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  std::string out_;
};

}  // namespace

std::string WriteYaml(const Value& value) {
  Writer writer;
  if (value.IsObject() && !value.AsObject().empty()) {
    writer.Members(value.AsObject(), 0, false);
    return writer.Take();
  }
  if (value.IsArray() && !value.AsArray().empty()) {
    writer.Items(value.AsArray(), 0, false);
    return writer.Take();
  }
  writer.Scalar(value, 2);
  return writer.Take() + "\n";
}

}  // namespace cubeplane::json
