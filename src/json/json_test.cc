#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cubeplane::json {
namespace {

Value Must(std::string_view text) {
  auto value = Parse(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  return value ? *value : Value();
}

std::string Refusal(std::string_view text, const Limits& limits = {}) {
  auto value = Parse(text, limits);
  EXPECT_FALSE(value) << text;
  return value ? "" : value.error().message;
}

TEST(JsonParse, ReadsEveryKindOfValue) {
  const Value value = Must(R"( {"a":[1,-2,3.5,1e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{}} )");
  EXPECT_EQ(value.At("a.0"), Value(1));
  EXPECT_EQ(value.At("a.1").AsInt(), -2);
  EXPECT_EQ(value.At("a.2").AsDouble(), 3.5);
  EXPECT_TRUE(value.At("a.3").IsDouble());
  EXPECT_TRUE(value.At("a.4").AsBool());
  EXPECT_TRUE(value.At("a.6").IsNull());
  EXPECT_EQ(value.At("a.7").AsString(), "x\xC3\xA9\xF0\x9F\x98\x80\n");
  EXPECT_TRUE(value["b"].IsObject());
  EXPECT_EQ(Must("7"), Value(7));
}

TEST(JsonParse, KeepsWholeNumbersWhole) {
  EXPECT_EQ(Must("9223372036854775807"), Value(INT64_MAX));
  EXPECT_EQ(Must("-9223372036854775808"), Value(INT64_MIN));
  EXPECT_TRUE(Must("9223372036854775808").IsDouble());
  EXPECT_EQ(Must("0.1").AsDouble(), 0.1);
  EXPECT_EQ(Must("2.2250738585072014e-308").AsDouble(), 2.2250738585072014e-308);
  EXPECT_EQ(Must("123456789.123456789e-5").AsDouble(), 123456789.123456789e-5);
}

TEST(JsonParse, SaysWhereItCannotRead) {
  EXPECT_EQ(Refusal("{\n  \"a\": tru }").substr(0, 35), "JSON at line 2, column 8 (byte 9): ");
  EXPECT_NE(Refusal("{\"a\":1").find("ends too early"), std::string::npos);
  EXPECT_NE(Refusal("{} x").find("more text after"), std::string::npos);
  EXPECT_NE(Refusal("1e999").find("too large"), std::string::npos);
  EXPECT_NE(Refusal(R"({"a":1,"b":2,"a":3})").find("\"a\" stands twice"), std::string::npos);
  for (const char* bad :
       {"", " ", "{a:1}", "[1,]", "{\"a\":1,}", "'x'", "01", "+1", ".5", "1.", "NaN", "\"\x01\"", "\"\xff\"",
        "\"\xC0\x80\"", "\"\\ud800\"", "// c\n1", "nul", "[1 2]", "\"\t\""}) {
    EXPECT_EQ(Parse(bad).error().code, Code::kBadRequest) << bad;
  }
}

TEST(JsonParse, HoldsItsLimits) {
  Limits limits{.max_bytes = 100, .max_depth = 3, .max_nodes = 10};
  EXPECT_TRUE(Parse("[[[1]]]", limits));
  EXPECT_NE(Refusal("[[[[1]]]]", limits).find("deeper than 3"), std::string::npos);
  EXPECT_EQ(Parse(std::string(101, ' '), limits).error().code, Code::kTooLarge);
  EXPECT_EQ(Parse("[1,2,3,4,5,6,7,8,9,10]", limits).error().code, Code::kTooLarge);
  EXPECT_FALSE(Parse(std::string(100'000, '[')));
}

TEST(JsonParse, DuplicateKeysAreFoundInLargeObjectsQuickly) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(Parse(text + "\"x\":1}"));
  EXPECT_NE(Refusal(text + "\"k77\":1}").find("\"k77\" stands twice"), std::string::npos);
}

TEST(JsonWrite, EscapesWhatWouldHurt) {
  const Value text(std::string("a\"\\\n\x01\x7F\xE2\x80\xA8\xFF/\0", 12));
  EXPECT_EQ(Write(text), "\"a\\\"\\\\\\n\\u0001\\u007f\\u2028\xEF\xBF\xBD/\\u0000\"");
  EXPECT_EQ(Write(Value(std::nan(""))), "null");
  EXPECT_EQ(Write(Value(1.0)), "1.0");
  EXPECT_EQ(Write(Value(1e300)), "1e+300");
}

TEST(JsonWrite, StylesAgreeOnTheValue) {
  const Value value = Must(R"({"b":[1,{"c":null}],"a":{},"d":[]})");
  EXPECT_EQ(Write(value), R"({"b":[1,{"c":null}],"a":{},"d":[]})");
  EXPECT_EQ(WriteCanonical(value), R"({"a":{},"b":[1,{"c":null}],"d":[]})");
  EXPECT_EQ(WritePretty(value),
            "{\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"a\": {},\n  \"d\": []\n}");
  EXPECT_EQ(Must(WritePretty(value)), value);
}

TEST(JsonValue, ObjectsAreEqualInAnyOrder) {
  EXPECT_EQ(Must(R"({"a":1,"b":2})"), Must(R"({"b":2,"a":1})"));
  EXPECT_FALSE(Must(R"({"a":1})") == Must(R"({"a":1.0})"));
  EXPECT_EQ(Must("{}")["x"]["y"].AsString(), "");
}

}  // namespace
}  // namespace cubeplane::json
