#include "model/reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

namespace cubeplane::model {
namespace {

bool HasHan(std::string_view text) {
  // U+4E00..U+9FFF begin with E4..E9 in UTF-8.
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0xE4 && c <= 0xE9; });
}

void ExpectGoodText(const ReasonRow& row, std::string_view text, std::set<std::string>& used) {
  const auto params = TemplateParams(text);
  ASSERT_TRUE(params) << row.code << ": malformed braces in: " << text;
  for (const std::string& name : *params) {
    EXPECT_TRUE(std::count(row.params.begin(), row.params.end(), name))
        << row.code << ": unknown parameter " << name;
    used.insert(name);
  }
}

TEST(Reasons, EveryRowHasBothLanguagesAndKnowsItsParameters) {
  ASSERT_GT(ReasonTable().size(), 50u);
  for (const ReasonRow& row : ReasonTable()) {
    EXPECT_FALSE(row.en.empty()) << row.code;
    EXPECT_TRUE(HasHan(row.zh)) << row.code << ": no Chinese text";
    EXPECT_FALSE(HasHan(row.en)) << row.code;
    EXPECT_EQ(row.next_en.empty(), row.next_zh.empty()) << row.code << ": next in one language only";
    if (!row.next_zh.empty()) EXPECT_TRUE(HasHan(row.next_zh)) << row.code;
    std::set<std::string> used;
    for (std::string_view text : {row.en, row.zh, row.next_en, row.next_zh}) ExpectGoodText(row, text, used);
    for (const std::string& name : row.params)
      EXPECT_TRUE(used.contains(name)) << row.code << ": unused parameter " << name;
  }
}

// Where a reason is made: Error(Code::kX, "code", …), reason = {"code", {…}}, Reason{"code", …},
// {"two_words", {{…}}}.
TEST(Reasons, EveryCodeInTheSourcesHasARow) {
  ASSERT_TRUE(std::filesystem::exists("src/model/reasons.cc")) << "run from the project's root";
  const std::regex made(
      R"re((?:Code::k\w+,\s*|[Rr]eason(?:\.code)?\s*=*\s*\{?\s*|\{\s*)"([a-z]+(?:_[a-z]+)+)"\s*,\s*\{(?:\{|\}))re");
  size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("src")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".cc" || path.ends_with("_test.cc")) continue;
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (std::sregex_iterator match(text.begin(), text.end(), made), end; match != end; ++match, ++seen) {
      EXPECT_TRUE(HasReason((*match)[1].str()))
          << path << ": " << (*match)[1] << " has no row in api/reasons.yaml";
    }
  }
  EXPECT_GT(seen, 20u);
}

TEST(Reasons, CodesAreUniqueLowerCaseWords) {
  std::string last;
  for (const ReasonRow& row : ReasonTable()) {
    EXPECT_EQ(row.code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << row.code;
    EXPECT_LT(last, row.code) << "twice";
    last = row.code;
  }
}

TEST(Reasons, TextsAreFilledInBothLanguages) {
  const std::vector<std::pair<std::string, std::string>> params = {{"code", "1"}};
  EXPECT_EQ(Render("program_failed", params, Language::kEn),
            "Read the last lines: your program ended with code 1.");
  EXPECT_EQ(Render("program_failed", params, Language::kZh), "请看末尾日志：程序以退出码 1 结束。");
  EXPECT_NE(RenderNext("program_failed", params, Language::kEn), "");
  EXPECT_EQ(RenderNext("project_ready", {}, Language::kEn), "");
}

TEST(Reasons, AWordFollowsItsNumber) {
  EXPECT_EQ(RenderNext("too_many_attempts", {{"seconds", "1"}}, Language::kEn),
            "Wait 1 second and try again.");
  EXPECT_EQ(RenderNext("too_many_attempts", {{"seconds", "2"}}, Language::kEn),
            "Wait 2 seconds and try again.");
}

TEST(Reasons, AnUnknownCodeShowsItselfAndAMissingParameterADash) {
  EXPECT_EQ(Render("no_such_code", {{"a", "1"}, {"b", "2"}}, Language::kZh), "no_such_code (a=1, b=2)");
  EXPECT_EQ(Render("program_failed", {}, Language::kEn),
            "Read the last lines: your program ended with code —.");
  EXPECT_TRUE(HasReason("program_failed"));
  EXPECT_FALSE(HasReason("no_such_code"));
}

TEST(Reasons, ValuesAreNeverReadAsTemplates) {
  EXPECT_EQ(Render("unschedulable", {{"message", "{message} {x|a|b}"}}, Language::kEn),
            "No node takes it now: {message} {x|a|b}");
}

TEST(Reasons, MalformedBracesAreSeen) {
  for (const char* text : {"{", "}", "{}", "{a", "{a|b}", "{A}", "a}b", "{{a}}"})
    EXPECT_FALSE(TemplateParams(text)) << text;
  EXPECT_EQ(TemplateParams("{n|core|cores} of {x}"), (std::vector<std::string>{"n", "x"}));
}

TEST(Language, IsChineseOnlyWhenItComesFirst) {
  for (const char* text : {"zh", "zh-CN,zh;q=0.9", "zh_CN.UTF-8", "ZH", "zh;q=1"})
    EXPECT_EQ(ParseLanguage(text), Language::kZh) << text;
  for (const char* text : {"", "en", "C", "en-US,zh;q=0.5", "zhx", "de"})
    EXPECT_EQ(ParseLanguage(text), Language::kEn) << text;
}

}  // namespace
}  // namespace cubeplane::model
