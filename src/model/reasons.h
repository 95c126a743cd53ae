// Sentences from codes and parameters, in English and Chinese: the one table is api/reasons.yaml, built into
// the binary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubeplane::model {

enum class Language { kEn, kZh };

// "zh-CN,zh;q=0.9" or "zh_CN.UTF-8" -> kZh; everything else kEn.
Language ParseLanguage(std::string_view accept_language_or_locale);

// The sentence of `code` ("A100 quota of nlp in bj1 is short …"). An unknown code gives the code itself and
// its parameters.
std::string Render(std::string_view code, const std::vector<std::pair<std::string, std::string>>& params,
                   Language language);
// The next step ("Ask for 1, or wait."), "" when the row has none.
std::string RenderNext(std::string_view code, const std::vector<std::pair<std::string, std::string>>& params,
                       Language language);
bool HasReason(std::string_view code);

// A row of api/reasons.yaml. Texts hold `{name}` for a parameter and `{name|one|many}` for a word that
// depends on it
// (`{n|core|cores}`: the first for 1).
struct ReasonRow {
  std::string code;
  std::vector<std::string> params;
  std::string en, zh;
  std::string next_en, next_zh;  // both empty when there is no next step
};
// Sorted by code. Immutable; safe from any thread.
const std::vector<ReasonRow>& ReasonTable();
// The names of the parameters that a text uses; nullopt when its braces are malformed.
std::optional<std::vector<std::string>> TemplateParams(std::string_view text);

}  // namespace cubeplane::model
