#include "base/clock.h"

#include <cstdio>
#include <ctime>

namespace cubeplane {
namespace {

Duration Read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec);
}

struct Parts {
  int year, month, day, hour, minute, second;
  int64_t nanos;
};

Parts Split(Time time) {
  const auto since = time.time_since_epoch();
  auto days = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const auto rest = since - days;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(rest);
  const auto count = seconds.count();
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(count / 3600),
          static_cast<int>(count / 60 % 60),
          static_cast<int>(count % 60),
          (rest - seconds).count()};
}

// Reads exactly `width` digits at `pos`; -1 when there are not that many.
int Digits(std::string_view text, size_t pos, size_t width) {
  if (pos + width > text.size()) return -1;
  int value = 0;
  for (size_t i = 0; i < width; ++i) {
    const char c = text[pos + i];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

Time SystemClock::Now() const { return Time(Read(CLOCK_REALTIME)); }
Mono SystemClock::MonoNow() const { return Mono(Read(CLOCK_MONOTONIC)); }

std::string FormatTime(Time time) {
  const Parts p = Split(time);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", p.year, p.month, p.day, p.hour,
                p.minute, p.second, static_cast<int>(p.nanos / 1'000'000));
  return text;
}

std::string FormatTimeSeconds(Time time) {
  const Parts p = Split(time);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", p.year, p.month, p.day, p.hour, p.minute,
                p.second);
  return text;
}

std::optional<Time> ParseTime(std::string_view text) {
  const int year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  if (year < 1970 || year > 2200 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return {};
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':')
    return {};
  if (hour > 23 || minute > 59 || second > 59) return {};
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  size_t pos = 19;
  int64_t nanos = 0;
  if (pos < text.size() && text[pos] == '.') {
    int64_t scale = 100'000'000;
    const size_t start = ++pos;
    for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos, scale /= 10)
      nanos += (text[pos] - '0') * scale;
    if (pos == start) return {};
  }
  std::chrono::minutes offset{0};
  if (pos + 1 == text.size() && (text[pos] == 'Z' || text[pos] == 'z')) {
    ++pos;
  } else if (pos + 6 == text.size() && (text[pos] == '+' || text[pos] == '-') && text[pos + 3] == ':') {
    const int h = Digits(text, pos + 1, 2), m = Digits(text, pos + 4, 2);
    if (h < 0 || h > 23 || m < 0 || m > 59) return {};
    offset = std::chrono::minutes((text[pos] == '-' ? -1 : 1) * (h * 60 + m));
  } else {
    return {};
  }
  return Time(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
              std::chrono::minutes(minute) + std::chrono::seconds(second) + std::chrono::nanoseconds(nanos) -
              offset);
}

std::string FormatDuration(Duration duration) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (seconds < 0) seconds = 0;
  if (seconds < 60) return std::to_string(seconds) + "s";
  struct Unit {
    int64_t seconds;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
  for (int i = 0; i < 3; ++i) {
    if (seconds < kUnits[i].seconds) continue;
    std::string text = std::to_string(seconds / kUnits[i].seconds) + kUnits[i].name;
    const int64_t rest = seconds % kUnits[i].seconds / kUnits[i + 1].seconds;
    if (rest > 0) text += std::to_string(rest) + kUnits[i + 1].name;
    return text;
  }
  return "0s";
}

}  // namespace cubeplane
