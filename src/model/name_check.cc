#include <cctype>

#include "model/problems.h"
#include "model/validate.h"

namespace cubeplane::model {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsGoodName(std::string_view name, size_t max) {
  if (name.empty() || name.size() > max || !IsLower(name.front()) || name.back() == '-') return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!IsLower(c) && !IsDigit(c) && c != '-') return false;
    if (c == '-' && name[i + 1] == '-') return false;
  }
  return true;
}

// The nearest name that would do: "Bert_FT" -> "bert-ft".
std::string Suggest(std::string_view name, size_t max) {
  std::string good;
  for (char raw : name) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(raw)));
    if (IsLower(c) || IsDigit(c)) {
      if (good.empty() && IsDigit(c)) good = "n";
      good += c;
    } else if (!good.empty() && good.back() != '-') {
      good += '-';
    }
  }
  good = good.substr(0, max);
  while (!good.empty() && good.back() == '-') good.pop_back();
  return good.empty() ? "my-name" : good;
}

}  // namespace

std::optional<FieldProblem> CheckName(std::string_view path, std::string_view name, size_t max) {
  if (IsGoodName(name, max)) return std::nullopt;
  return FieldProblem{std::string(path), CutText(name, Problems::kMaxFound),
                      "a-z, 0-9 and single -, a letter first, no - at the end, at most " +
                          std::to_string(max) + " characters, such as `" + Suggest(name, max) + "`"};
}

}  // namespace cubeplane::model
