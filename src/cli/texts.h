// Every sentence of the command line, in English and Chinese: one table, texts.inc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "model/reasons.h"

namespace cubeplane::cli {

enum class Text {
#define TEXT(name, en, zh) name,
#include "cli/texts.inc"
#undef TEXT
};

using TextParams = std::vector<std::pair<std::string_view, std::string>>;

// The sentence with its `{parameters}` filled in; `{n|core|cores}` chooses by the number n.
std::string Say(model::Language language, Text text, const TextParams& params = {});
inline std::string Say(const Terminal& terminal, Text text, const TextParams& params = {}) {
  return Say(terminal.language, text, params);
}

// The table itself, for its test.
struct TextRow {
  std::string_view name, en, zh;
};
const std::vector<TextRow>& AllTexts();

}  // namespace cubeplane::cli
