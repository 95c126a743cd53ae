#include "http/message.h"

#include <algorithm>

namespace cubeplane::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = Lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsUnreserved(char c) {
  return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

}  // namespace

std::string_view Headers::Get(std::string_view name) const {
  for (const auto& field : fields_) {
    if (SameName(field.first, name)) return field.second;
  }
  return {};
}

bool Headers::Has(std::string_view name) const { return Count(name) > 0; }

size_t Headers::Count(std::string_view name) const {
  return static_cast<size_t>(
      std::ranges::count_if(fields_, [&](const auto& field) { return SameName(field.first, name); }));
}

void Headers::Set(std::string_view name, std::string value) {
  Remove(name);
  Add(name, std::move(value));
}

void Headers::Add(std::string_view name, std::string value) {
  fields_.emplace_back(std::string(name), std::move(value));
}

void Headers::Remove(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return SameName(field.first, name); });
}

std::string_view Request::query() const {
  const size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || high * 16 + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out.find('\0') == std::string::npos ? std::optional(std::move(out)) : std::nullopt;
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 0xF];
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    auto key = PercentDecode(part.substr(0, equals), true);
    auto value =
        PercentDecode(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  return pairs;
}

}  // namespace cubeplane::http
