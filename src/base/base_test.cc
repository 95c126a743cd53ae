#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/strings.h"

namespace cubeplane {
namespace {

TEST(Time, RoundTripsAndReadsOffsets) {
  const auto time = ParseTime("2026-03-04T14:02:07.123456+08:00");
  ASSERT_TRUE(time);
  EXPECT_EQ(FormatTime(*time), "2026-03-04T06:02:07.123Z");
  EXPECT_EQ(FormatTimeSeconds(*time), "2026-03-04T06:02:07Z");
}

TEST(Time, RefusesMalformed) {
  for (const char* text : {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
                           "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+8:00"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

TEST(Time, DurationsForPeopleHaveAtMostTwoUnits) {
  using namespace std::chrono_literals;
  EXPECT_EQ(FormatDuration(0s), "0s");
  EXPECT_EQ(FormatDuration(59s), "59s");
  EXPECT_EQ(FormatDuration(2h + 10min + 5s), "2h10m");
  EXPECT_EQ(FormatDuration(48h), "2d");
}

TEST(Uuid, IsVersion7AndSortsByTime) {
  ManualClock clock;
  SeededRandom random(1);
  const std::string first = NewUuid(clock, random);
  clock.Advance(std::chrono::milliseconds(1));
  const std::string second = NewUuid(clock, random);
  EXPECT_EQ(first.size(), 36u);
  EXPECT_EQ(first[14], '7');
  EXPECT_LT(first, second);
}

TEST(Error, TableMapsBothWays) {
  EXPECT_EQ(HttpStatus(Code::kQuotaExceeded), 403);
  EXPECT_EQ(CodeFromHttp(409, "AlreadyExists"), Code::kAlreadyExists);
  EXPECT_EQ(CodeFromHttp(409, ""), Code::kConflict);
  EXPECT_EQ(CodeFromHttp(502, ""), Code::kUnavailable);
}

TEST(Strings, Base64BothWays) {
  for (const char* text : {"", "a", "ab", "abc", "abcd"}) EXPECT_EQ(FromBase64(Base64(text)), text);
  EXPECT_EQ(Base64("ab"), "YWI=");
  for (const char* text : {"YWI", "YW=I", "Y===", "YWJ=", "YW I"}) EXPECT_FALSE(FromBase64(text)) << text;
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace cubeplane
