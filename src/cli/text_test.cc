#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "cli/log_cursor.h"
#include "cli/table.h"
#include "cli/texts.h"
#include "cli/width.h"

namespace cubeplane::cli {
namespace {

using model::Language;

std::set<std::string> ParamsIn(std::string_view text) {
  std::set<std::string> names;
  const std::string copy(text);
  const std::regex slot("\\{([a-z]+)");
  for (std::sregex_iterator it(copy.begin(), copy.end(), slot), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

// What is the same in both languages: names, units, columns of other tools.
const std::set<std::string_view> kSameInBoth = {"kAsksGpu", "kAsksMemory", "kVersionClient",
                                                "kOfGiB",   "kOfCards",    "kQuotaUse"};

TEST(Texts, EveryTextIsThereInBothLanguagesWithTheSameParameters) {
  ASSERT_GT(AllTexts().size(), 100u);
  for (const TextRow& row : AllTexts()) {
    EXPECT_FALSE(row.en.empty()) << row.name;
    EXPECT_FALSE(row.zh.empty()) << row.name;
    EXPECT_EQ(ParamsIn(row.en), ParamsIn(row.zh)) << row.name;
    const bool chinese =
        std::ranges::any_of(row.zh, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    EXPECT_TRUE(chinese || kSameInBoth.contains(row.name)) << row.name << " is not translated";
    EXPECT_FALSE(std::ranges::any_of(row.en, [](char c) { return static_cast<unsigned char>(c) >= 0xE4; }))
        << row.name;
    EXPECT_EQ(row.en.find('!'), std::string_view::npos) << row.name;
  }
}

TEST(Texts, FillsParametersAndPlurals) {
  EXPECT_EQ(Say(Language::kEn, Text::kPacked, {{"n", "1"}, {"size", "3"}}), "Packed 1 file, 3 KiB.");
  EXPECT_EQ(Say(Language::kEn, Text::kPacked, {{"n", "2"}, {"size", "3"}}), "Packed 2 files, 3 KiB.");
  EXPECT_EQ(Say(Language::kZh, Text::kPacked, {{"n", "2"}, {"size", "3"}}), "已打包 2 个文件，3 KiB。");
}

TEST(Width, CountsChineseAsTwoColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("排队中"), 6u);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);
  EXPECT_EQ(DisplayWidth("\xFF"), 1u);
  EXPECT_EQ(PadTo("排队", 6), "排队  ");
  EXPECT_EQ(CutTo("排队中", 5), "排队…");
  EXPECT_EQ(CutTo("abc", 3), "abc");
}

TEST(Width, MakesForeignTextHarmless) {
  EXPECT_EQ(Printable("a\x1b[31mb\nc"), "a·[31mb·c");
  EXPECT_EQ(Printable("\xC2\x9b"
                      "31m"),
            "·31m");
  LogFilter filter;
  EXPECT_EQ(filter.Pass("\x1b[31mred\x1b[0m\r\n"), "\x1b[31mred\x1b[0m\r\n");
  EXPECT_EQ(filter.Pass("a\x1b]0;title\x07"
                        "b\x1b[2Jc\x1b[6nd\x07"),
            "abcd");
  EXPECT_EQ(filter.Pass("x\x1b") + filter.Pass("]52;c;AAAA\x1b") + filter.Pass("\\y"), "xy");
  EXPECT_EQ(filter.Pass("\xC2") + filter.Pass("\x9b"
                                              "31mz"),
            "31mz");
  EXPECT_EQ(filter.Pass("中文"), "中文");
}

TEST(Table, PadsByDisplayWidthAndCutsOnlyOnATerminal) {
  std::ostringstream out, err;
  Terminal terminal{.out = out, .err = err};
  Table table({"名称", "STATE", "WHY"});
  table.Add({"a", "排队中", std::string(100, 'x')});
  table.Print(terminal);
  EXPECT_EQ(out.str(), "名称  STATE   WHY\na     排队中  " + std::string(100, 'x') + "\n");
  out.str("");
  terminal.out_is_tty = true;
  terminal.columns = 30;
  table.Print(terminal);
  EXPECT_EQ(out.str(), "名称  STATE   WHY\na     排队中  " + std::string(15, 'x') + "…\n");
}

TEST(LogCursor, GoesOnWithoutAGapOrARepeat) {
  LogCursor cursor;
  EXPECT_EQ(cursor.Take("2026-01-01T00:00:00.1Z a\n2026-01-01T00:00:00.2Z b\n2026-01-01T00:0", false),
            "a\nb\n");
  cursor.Rewind();
  EXPECT_EQ(cursor.Take("2026-01-01T00:00:00.1Z a\n2026-01-01T00:00:00.2Z b\n", false), "");
  // Two lines of the same instant, of which one had been shown.
  EXPECT_EQ(cursor.Take("2026-01-01T00:00:00.2Z c\n2026-01-01T00:00:00.3Z \n", false), "c\n\n");
  cursor.Rewind();
  EXPECT_EQ(
      cursor.Take("2026-01-01T00:00:00.2Z b\n2026-01-01T00:00:00.2Z c\n2026-01-01T00:00:00.3Z \n", false),
      "");
  EXPECT_EQ(cursor.Take("2026-01-01T00:00:00.4Z d", true), "");
  EXPECT_EQ(cursor.TakeRest(true), "2026-01-01T00:00:00.4Z d\n");
}

}  // namespace
}  // namespace cubeplane::cli
