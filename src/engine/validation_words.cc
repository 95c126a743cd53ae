#include "engine/validation_words.h"

#include <algorithm>

namespace cubeplane::engine {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsAlnum(char c) { return IsLower(c) || IsDigit(c) || IsUpper(c); }

bool IsDnsLabel(std::string_view text) {
  const auto good = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
  return !text.empty() && std::ranges::all_of(text, good) && text.front() != '-' && text.back() != '-';
}

std::string TooLong(size_t max) { return "must be no more than " + std::to_string(max) + " characters"; }

bool IsQualifiedPart(std::string_view text) {
  const auto good = [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, good) && IsAlnum(text.front()) && IsAlnum(text.back());
}

}  // namespace

std::string DnsLabelProblem(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  if (IsDnsLabel(text)) return "";
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
         "start and end "
         "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

std::string DnsLabel1035Problem(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  if (IsDnsLabel(text) && IsLower(text.front())) return "";
  return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
         "alphabetic "
         "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
         "validation "
         "is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

std::string DnsSubdomainProblem(std::string_view text) {
  if (text.size() > 253) return TooLong(253);
  bool good = !text.empty();
  for (std::string_view rest = text; good;) {
    const size_t dot = rest.find('.');
    good = IsDnsLabel(rest.substr(0, dot));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (good) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
         "must start "
         "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

std::string QualifiedNameProblem(std::string_view text) {
  std::string_view name = text;
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string problem = DnsSubdomainProblem(text.substr(0, slash));
    if (!problem.empty()) return "prefix part " + problem;
    name = text.substr(slash + 1);
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + TooLong(63);
  if (IsQualifiedPart(name)) return "";
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
         "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

std::string LabelValueProblem(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  if (text.empty() || IsQualifiedPart(text)) return "";
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
         "must start "
         "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
         "for "
         "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

std::string ConfigKeyProblem(std::string_view text) {
  if (text.size() > 253) return TooLong(253);
  const auto good = [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; };
  if (text.empty() || !std::ranges::all_of(text, good)) {
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
           "or "
           "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  }
  if (text == "." || text == "..") return "must not be '" + std::string(text) + "'";
  if (text.starts_with("..")) return "must not start with '..'";
  return "";
}

std::string EnvNameProblem(std::string_view text) {
  const auto good = [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; };
  if (!text.empty() && std::ranges::all_of(text, good) && !IsDigit(text.front()) && text != "." &&
      text != "..")
    return "";
  return "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
         "and must "
         "not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for "
         "validation is "
         "'[-._a-zA-Z][-._a-zA-Z0-9]*')";
}

}  // namespace cubeplane::engine
