// Sentences from codes and parameters, in English and Chinese: the one table is api/reasons.yaml, built into the binary.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubeplane::model {

enum class Language { kEn, kZh };

// "zh-CN,zh;q=0.9" or "zh_CN.UTF-8" -> kZh; everything else kEn.
Language ParseLanguage(std::string_view accept_language_or_locale);

// The sentence of `code` ("A100 quota of nlp in bj1 is short …"). An unknown code gives the code itself and its parameters.
std::string Render(std::string_view code, const std::vector<std::pair<std::string, std::string>>& params,
                   Language language);
// The next step ("Ask for 1, or wait."), "" when the row has none.
std::string RenderNext(std::string_view code, const std::vector<std::pair<std::string, std::string>>& params,
                       Language language);
bool HasReason(std::string_view code);

}  // namespace cubeplane::model
