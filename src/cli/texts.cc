#include "cli/texts.h"

namespace cubeplane::cli {
namespace {

std::string_view Find(const TextParams& params, std::string_view name) {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  return {};
}

// What stands between braces: "name" or "n|one|many".
std::string Filled(std::string_view slot, const TextParams& params) {
  const size_t bar = slot.find('|');
  if (bar == std::string_view::npos) return std::string(Find(params, slot));
  const size_t second = slot.find('|', bar + 1);
  const bool one = Find(params, slot.substr(0, bar)) == "1";
  return std::string(one ? slot.substr(bar + 1, second - bar - 1) : slot.substr(second + 1));
}

}  // namespace

const std::vector<TextRow>& AllTexts() {
  static const std::vector<TextRow> rows = {
#define TEXT(name, en, zh) {#name, en, zh},
#include "cli/texts.inc"
#undef TEXT
  };
  return rows;
}

std::string Say(model::Language language, Text text, const TextParams& params) {
  const TextRow& row = AllTexts()[static_cast<size_t>(text)];
  std::string_view rest = language == model::Language::kZh ? row.zh : row.en;
  std::string out;
  for (;;) {
    const size_t open = rest.find('{');
    const size_t close = open == std::string_view::npos ? open : rest.find('}', open);
    if (close == std::string_view::npos) return out.append(rest);
    out += rest.substr(0, open);
    out += Filled(rest.substr(open + 1, close - open - 1), params);
    rest.remove_prefix(close + 1);
  }
}

}  // namespace cubeplane::cli
