#include <gtest/gtest.h>

#include "json/json.h"

namespace cubeplane::json {
namespace {

Value Must(std::string_view text) {
  auto documents = ParseYaml(text);
  EXPECT_TRUE(documents) << (documents ? "" : documents.error().message);
  if (!documents) return Value();
  EXPECT_EQ(documents->size(), 1u) << text;
  return documents->size() == 1 ? documents->front() : Value();
}

std::string Refusal(std::string_view text, const Limits& limits = {}) {
  auto value = ParseYaml(text, limits);
  EXPECT_FALSE(value) << text;
  return value ? "" : value.error().message;
}

TEST(YamlParse, TypesPlainScalarsByTheCoreSchema) {
  const struct {
    const char* text;
    Value value;
  } cases[] = {
      {"no", "no"},
      {"yes", "yes"},
      {"on", "on"},
      {"true", true},
      {"False", false},
      {"tRUE", "tRUE"},
      {"~", nullptr},
      {"null", nullptr},
      {"", nullptr},
      {"012", 12},
      {"+5", 5},
      {"-0", 0},
      {"0o17", 15},
      {"0x1F", 31},
      {"0b11", "0b11"},
      {"1e3", 1000.0},
      {".5", 0.5},
      {"5.", 5.0},
      {"1_000", "1_000"},
      {"1:30", "1:30"},
      {"500m", "500m"},
      {"1.2.3", "1.2.3"},
      {"\"12\"", "12"},
      {"'true'", "true"},
      {"!!str 12", "12"},
      {"!!int 12", 12},
      {"!!float 1", 1},
      {"! 12", "12"},
      {"9223372036854775808", 9223372036854775808.0},
      {"2026-01-01", "2026-01-01"},
      {"0xZZ", "0xZZ"},
      {"+", "+"},
      {"1e", "1e"},
      {"!!str null", "null"},
      {"'~'", "~"},
  };
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(Write(Must(std::string("k: ") + text)["k"]), Write(value)) << text;
  }
}

TEST(YamlParse, ReadsManifestsOfSeveralDocuments) {
  auto documents =
      ParseYaml("# a comment\nkind: A\n---\n---\nkind: B\nlist:\n- x: 1\n  y: [a, {b: c}]\n...\n---\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(Write((*documents)[1]), R"({"kind":"B","list":[{"x":1,"y":["a",{"b":"c"}]}]})");
  EXPECT_TRUE(ParseYaml("")->empty());
  EXPECT_TRUE(ParseYaml("# only a comment\n")->empty());
}

TEST(YamlParse, ReadsJson) {
  EXPECT_EQ(Write(Must(R"({"a": [1, "x\u00e9", null]})")), "{\"a\":[1,\"x\xC3\xA9\",null]}");
}

TEST(YamlParse, KeysAreTexts) {
  EXPECT_EQ(Write(Must("1: a\ntrue: b\n'x y': c\n")), R"({"1":"a","true":"b","x y":"c"})");
  EXPECT_NE(Refusal("? [a]\n: b\n").find("a key must be plain text"), std::string::npos);
  EXPECT_NE(Refusal("a: 1\nb: 2\na: 3\n").find("line 3, column 1: the key \"a\" stands twice"),
            std::string::npos);
}

TEST(YamlParse, ExpandsAliasesWithinLimits) {
  EXPECT_EQ(Write(Must("a: &x [1, 2]\nb: *x\nc: &y z\nd: *y\n")), R"({"a":[1,2],"b":[1,2],"c":"z","d":"z"})");
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    laughs += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) laughs += (i ? ",*" : "*") + before;
    laughs += "]\n";
  }
  EXPECT_EQ(ParseYaml(laughs).error().code, Code::kTooLarge);
  EXPECT_NE(Refusal("a: &x [*x]\n").find("alias"), std::string::npos);
  Refusal("a: *nothing\n");
}

TEST(YamlParse, HoldsItsLimits) {
  Limits limits{.max_bytes = 200, .max_depth = 4, .max_nodes = 50};
  EXPECT_TRUE(ParseYaml("a: {b: {c: {d: 1}}}", limits));
  EXPECT_NE(Refusal("a: {b: {c: {d: {e: 1}}}}", limits).find("deeper than 4"), std::string::npos);
  EXPECT_NE(Refusal("a: &x {b: {c: 1}}\nd: {e: *x}\nf: {g: {h: *x}}\n", limits).find("deeper than 4"),
            std::string::npos);
  EXPECT_EQ(ParseYaml(std::string(201, ' '), limits).error().code, Code::kTooLarge);
  EXPECT_FALSE(ParseYaml(std::string(100'000, '[')));
}

TEST(YamlParse, SaysWhatItCannotRead) {
  for (const char* bad : {"a: b: c", "a: [1", "\tx: 1", "a: \"x", "a: .inf", "a: -.Inf", "a: .nan",
                          "a: !!binary aGk=", "a: !foo b", "a: !!int x", "a: 1\n b: 2", "a: 1e999", "a: \xff",
                          "a: 0xFFFFFFFFFFFFFFFFFF", "%YAML 3.0 x\n---\na", "- a\nb: c"}) {
    auto value = ParseYaml(bad);
    ASSERT_FALSE(value) << bad << " -> " << Write(value->empty() ? Value() : value->front());
    EXPECT_EQ(value.error().code, Code::kBadRequest);
    EXPECT_TRUE(value.error().message.starts_with("YAML at line ")) << value.error().message;
  }
  EXPECT_FALSE(ParseYaml(std::string_view("a: 1\0b: 2", 9)));
  EXPECT_FALSE(
      ParseYaml("a: 1\n\x04"
                "b: 2"));
}

TEST(YamlWrite, LooksLikeKubectl) {
  const Value value = *Parse(
      R"({"kind":"Pod","spec":{"containers":[{"name":"a","args":["-c","x: y"]}],"num":1,"e":{},"l":[]}})");
  EXPECT_EQ(WriteYaml(value),
            "kind: Pod\nspec:\n  containers:\n  - name: a\n    args:\n    - \"-c\"\n    - \"x: y\"\n  num: "
            "1\n  e: {}\n  l: []\n");
}

TEST(YamlWrite, ReadsBackAsTheSameValue) {
  const char* strings[] = {"",
                           "no",
                           "12",
                           "1.5",
                           "true",
                           "null",
                           "~",
                           "a b",
                           "a: b",
                           "a #b",
                           "- x",
                           "*x",
                           "&x",
                           "!x",
                           "line\n",
                           "a\nb",
                           "a\nb\n\n",
                           " a\nb",
                           "\n",
                           "a\r\nb",
                           "a\tb",
                           "\x01",
                           "'",
                           "\"",
                           "{x",
                           "[x",
                           "中文 组",
                           "2026-01-01",
                           "1:30",
                           "0x1F",
                           "x:",
                           "http://a:1",
                           "@x",
                           "`x",
                           "%x",
                           "a, b",
                           "...",
                           "---",
                           "? x",
                           ".inf",
                           "1_000",
                           "#x",
                           "x ",
                           "a\n  b\nc",
                           "\xEF\xBB\xBFx",
                           "\xC2\x85",
                           "e\xE2\x80\xA8",
                           "|",
                           ">",
                           "a\n\n\nb\n",
                           "0b1",
                           "=",
                           "<<"};
  Array list;
  Object object;
  for (const char* text : strings) {
    list.emplace_back(text);
    object.Set(text, Value(text));
  }
  const Value value(Object{{"list", Value(list)},
                           {"object", Value(object)},
                           {"deep", Value(Array{Value(Array{Value(list), Value(1)}), Value(object)})}});
  const std::string text = WriteYaml(value);
  EXPECT_EQ(Write(Must(text)), Write(value)) << text;
  for (const char* one : strings)
    EXPECT_EQ(Write(Must(WriteYaml(Value(one)))), Write(Value(one))) << WriteYaml(Value(one));
}

}  // namespace
}  // namespace cubeplane::json
