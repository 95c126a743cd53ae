#include "base/quantity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/random.h"

namespace cubeplane {
namespace {

Quantity Q(std::string_view text) {
  auto quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity) << text;
  return quantity.value_or(Quantity());
}

TEST(Quantity, WritesTheCanonicalText) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},       {"1000m", "1"},          {"1.5", "1500m"},     {"1500m", "1500m"},
      {"+5", "5"},      {"1024Ki", "1Mi"},       {"1023", "1023"},     {"512Ki", "512Ki"},
      {"0.5Ki", "512"}, {"1e3", "1e3"},          {"12e-1", "1200e-3"}, {".5", "500m"},
      {"1.", "1"},      {"-1Gi", "-1Gi"},        {"100k", "100k"},     {"1E", "1E"},
      {"1E2", "100"},   {"0.1Mi", "104857600m"}, {"1n", "1n"},         {"1536Mi", "1536Mi"}};
  for (const auto& [text, canonical] : cases) EXPECT_EQ(Q(text).ToString(), canonical) << text;
}

TEST(Quantity, RoundsFinerThanNanoAwayFromZero) {
  EXPECT_EQ(Q("0.1n").ToString(), "1n");
  EXPECT_EQ(Q("-1e-20").ToString(), "-1e-9");
  EXPECT_EQ(Q("1e-2147483647").ToString(), "1e-9");
  EXPECT_EQ(Q("1.0000000001").nano(), 1'000'000'001);
  EXPECT_EQ(Q("0.0000000001Ki").nano(), 103);
}

TEST(Quantity, RefusesMalformedTextAndSaysWhatIsAllowed) {
  for (const char* text : {"",    "+",     ".",    "-.",  "Ki",  "k",    "e5",          "1 ",    " 1",
                           "1K",  "1kb",   "1GiB", "1e",  "1e+", "--1",  "+-1",         "1e1.5", "0x10",
                           "1,5", "1_000", "NaN",  "Inf", "1mi", "1e5k", "\xef\xbc\x91"}) {
    auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity) << text;
    EXPECT_EQ(quantity.error().code, Code::kInvalid);
    ASSERT_EQ(quantity.error().fields.size(), 1u);
    EXPECT_EQ(quantity.error().fields[0].found, text);
    EXPECT_FALSE(quantity.error().fields[0].allowed.empty());
  }
}

// Kubernetes truncates exponents to 32 bits, cuts binary values at 2^63−1 and lets decimal ones grow; here
// each is an error.
TEST(Quantity, RefusesWhatIsTooLargeInBoundedTime) {
  for (const char* text : {"1e9223372036854775807", "2E6024865272343", "1000e2147483647", "1e2147483647",
                           "1e-9223372036854775807", "8Ei", "-8Ei", "10E", "9223372036854775808",
                           "9223372036854775807.000000001", "1e19", "1e100",
                           "99999999999999999999999999999999999999999999999999999999999999Ei"}) {
    EXPECT_FALSE(Quantity::Parse(text)) << text;
  }
  EXPECT_FALSE(Quantity::Parse(std::string(Quantity::kMaxText + 1, '1')));
  EXPECT_TRUE(Quantity::Parse(std::string(Quantity::kMaxText, '0')));
  EXPECT_EQ(Q("0e2147483647").ToString(), "0");
}

TEST(Quantity, HoldsOnBothSidesOfTheFastPathsEdge) {
  EXPECT_EQ(Q("9223372036854775807").Value(), INT64_MAX);
  EXPECT_EQ(Q("-9223372036854775807").Value(), -INT64_MAX);
  EXPECT_EQ(Q("1.000000000000000001E").Value(), 1'000'000'000'000'000'001);
  EXPECT_EQ(Q("8191Pi").ToString(), "8191Pi");
  EXPECT_LT(Q("8191Pi"), *Quantity::Sum(Q("8191Pi"), Q("1")));
  EXPECT_EQ(Quantity::Sum(Q("8191Pi"), Q("1"))->ToString(), "9222246136947933185");
  EXPECT_EQ(Q("9223372036854775807").MilliValue(), INT64_MAX) << "saturates";
  EXPECT_EQ(Q("1") <=> Q("1000m"), std::strong_ordering::equal);
}

TEST(Quantity, AddingAndRemovingAreExactInverses) {
  const Quantity huge = Q("9223372036854775807"), small = Q("7");
  Quantity used = *Quantity::Sum(*Quantity::Sum(Quantity(), huge), small);
  used = *Quantity::Difference(used, huge);
  EXPECT_EQ(used, small);
  EXPECT_TRUE(Quantity::Difference(used, small)->IsZero());
}

TEST(Quantity, ASumThatOverflowsIsAnError) {
  Quantity sum = Q("9223372036854775807");
  bool refused = false;
  for (int doublings = 0; doublings < 40 && !refused; ++doublings) {
    auto twice = Quantity::Sum(sum, sum);
    if (twice) EXPECT_GT(*twice, sum);
    refused = !twice;
    if (twice) sum = *twice;
  }
  EXPECT_TRUE(refused);
  EXPECT_GT(*Quantity::Sum(Q("9223372036854775807"), Q("9223372036854775807")), Q("9223372036854775807"));
}

TEST(Quantity, ASumTakesTheFormOfTheFirstThatIsNotZero) {
  EXPECT_EQ(Quantity::Sum(Q("0"), Q("2Gi"))->ToString(), "2Gi");
  EXPECT_EQ(Quantity::Sum(Q("1Gi"), Q("1073741824"))->ToString(), "2Gi");
  EXPECT_EQ(Quantity::Sum(Q("1073741824"), Q("1Gi"))->ToString(), "2147483648");
}

// ---- vectors of k8s.io/apimachinery (tests/quantity_vectors) ----

struct Vector {
  std::string text, kind, canonical, sign, value, milli, compare, sum;
};

std::vector<Vector> ReadVectors() {
  const char* chosen = std::getenv("CUBEPLANE_QUANTITY_VECTORS");
  std::ifstream file(chosen != nullptr ? chosen : "tests/quantity_vectors/vectors.tsv");
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Vector v;
    for (std::string* field :
         {&v.text, &v.kind, &v.canonical, &v.sign, &v.value, &v.milli, &v.compare, &v.sum}) {
      std::getline(fields, *field, '\t');
    }
    vectors.push_back(std::move(v));
  }
  return vectors;
}

int Sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

void ExpectAgrees(const Vector& v, const Quantity& q, const Vector* next) {
  EXPECT_EQ(q.ToString(), v.canonical);
  EXPECT_EQ(std::to_string(Sign(q <=> Quantity())), v.sign);
  if (v.value != "-") EXPECT_EQ(std::to_string(q.Value()), v.value);
  if (v.milli != "-") EXPECT_EQ(std::to_string(q.MilliValue()), v.milli);
  if (v.compare == "-" || next == nullptr) return;
  const Quantity other = Q(next->text);
  EXPECT_EQ(std::to_string(Sign(q <=> other)), v.compare) << next->text;
  EXPECT_EQ(Quantity::Sum(q, other)->ToString(), v.sum) << next->text;
}

TEST(QuantityVectors, AgreeWithApimachinery) {
  const std::vector<Vector> vectors = ReadVectors();
  ASSERT_GE(vectors.size(), 10'000u) << "tests/quantity_vectors/vectors.tsv, seen from the project's root";
  size_t compared = 0;
  for (size_t i = 0; i < vectors.size() && !::testing::Test::HasFailure(); ++i) {
    const Vector& v = vectors[i];
    SCOPED_TRACE("line " + std::to_string(i + 1) + ": " + v.text);
    const auto q = Quantity::Parse(v.text);
    ASSERT_EQ(q.has_value(), v.kind == "ok");
    if (!q) continue;
    ExpectAgrees(v, *q, i + 1 < vectors.size() ? &vectors[i + 1] : nullptr);
    ++compared;
  }
  EXPECT_GT(compared, vectors.size() / 2);
}

TEST(Quantity, WhatItWritesItReadsBack) {
  SeededRandom random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto format = static_cast<Quantity::Format>(random.Below(3));
    const __int128 nano = static_cast<__int128>(static_cast<int64_t>(random.Next())) *
                          static_cast<int64_t>(random.Below(1'000'000'000) >> random.Below(30));
    const Quantity q = Quantity::FromNano(nano, format);
    const auto again = Quantity::Parse(q.ToString());
    ASSERT_TRUE(again) << q.ToString();
    ASSERT_EQ(*again, q) << q.ToString();
  }
}

}  // namespace
}  // namespace cubeplane
