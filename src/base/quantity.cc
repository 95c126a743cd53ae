#include "base/quantity.h"

#include <array>
#include <limits>
#include <optional>

namespace cubeplane {
namespace {

using Wide = __int128;

constexpr Wide kNanoPerUnit = 1'000'000'000;
constexpr Wide kMaxUnits = std::numeric_limits<int64_t>::max();
constexpr Wide kMaxParsed = kMaxUnits * kNanoPerUnit;
constexpr Wide kMaxSum = kMaxParsed * kNanoPerUnit;

struct Suffix {
  std::string_view text;
  int exponent;  // of ten, or of two when binary
  bool binary;
};
constexpr std::array<Suffix, 16> kSuffixes = {{{"", 0, false},
                                               {"n", -9, false},
                                               {"u", -6, false},
                                               {"m", -3, false},
                                               {"k", 3, false},
                                               {"M", 6, false},
                                               {"G", 9, false},
                                               {"T", 12, false},
                                               {"P", 15, false},
                                               {"E", 18, false},
                                               {"Ki", 10, true},
                                               {"Mi", 20, true},
                                               {"Gi", 30, true},
                                               {"Ti", 40, true},
                                               {"Pi", 50, true},
                                               {"Ei", 60, true}}};

// The parts of a quantity's text.
struct Parts {
  bool negative = false;
  std::string_view whole, fraction;  // digits
  int exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimalSI;
};

Error Bad(std::string_view text, std::string why) {
  std::string found(text.substr(0, 200));
  Error error(Code::kInvalid, "quantity \"" + found + "\": " + why);
  error.fields.push_back({"", found, std::move(why)});
  return error;
}

constexpr char kGrammar[] =
    "a number such as 2, 0.5, 500m, 128Mi or 1e3 (suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei)";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeDigits(std::string_view& rest) {
  size_t count = 0;
  while (count < rest.size() && IsDigit(rest[count])) ++count;
  std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

// Reads the exponent behind e or E; nullopt when malformed or beyond 32 bits.
std::optional<int> ReadExponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  for (char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > std::numeric_limits<int32_t>::max()) return std::nullopt;
  }
  return static_cast<int>(negative ? -value : value);
}

bool ReadSuffix(std::string_view text, Parts& parts) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text != text) continue;
    parts.exponent = suffix.exponent;
    parts.format = suffix.binary ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI;
    return true;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  std::optional<int> exponent = ReadExponent(text.substr(1));
  if (!exponent) return false;
  parts.exponent = *exponent;
  parts.format = Quantity::Format::kDecimalExponent;
  return true;
}

Result<Parts> Split(std::string_view text) {
  Parts parts;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    parts.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  parts.whole = TakeDigits(rest);
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    parts.fraction = TakeDigits(rest);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return Fail(Bad(text, kGrammar));
  if (!ReadSuffix(rest, parts)) return Fail(Bad(text, kGrammar));
  return parts;
}

// whole.fraction × 10^(exponent + 9), rounded up; nullopt when it is beyond kMaxParsed.
std::optional<Wide> DecimalNano(const Parts& parts) {
  const size_t digits = parts.whole.size() + parts.fraction.size();
  auto digit = [&](size_t i) {
    return i < parts.whole.size() ? parts.whole[i] - '0' : parts.fraction[i - parts.whole.size()] - '0';
  };
  // How many digits stand left of the point of the nano count; may lie far outside the text on either side.
  const int64_t point = static_cast<int64_t>(parts.whole.size()) + parts.exponent + 9;
  Wide nano = 0;
  size_t i = 0;
  for (; i < digits && static_cast<int64_t>(i) < point; ++i) {
    nano = nano * 10 + digit(i);
    if (nano > kMaxParsed) return std::nullopt;
  }
  if (nano != 0) {
    for (int64_t zeros = point - static_cast<int64_t>(i); zeros > 0; --zeros) {
      nano *= 10;
      if (nano > kMaxParsed) return std::nullopt;
    }
  }
  bool more = false;
  for (; i < digits; ++i) more = more || digit(i) != 0;
  return nano + (more ? 1 : 0);
}

// whole.fraction × 2^exponent × 10^9, rounded up; nullopt when it is beyond kMaxParsed.
std::optional<Wide> BinaryNano(const Parts& parts) {
  const Wide factor = (Wide{1} << parts.exponent) * kNanoPerUnit;
  Wide whole = 0;
  for (char c : parts.whole) {
    whole = whole * 10 + (c - '0');
    if (whole > kMaxParsed / factor) return std::nullopt;
  }
  // Long multiplication of the decimal fraction by the factor, from its last digit: the carry out of the
  // first digit is the whole part, what stays behind is the rest.
  Wide carry = 0;
  bool more = false;
  for (size_t i = parts.fraction.size(); i-- > 0;) {
    const Wide product = (parts.fraction[i] - '0') * factor + carry;
    more = more || product % 10 != 0;
    carry = product / 10;
  }
  return whole * factor + carry + (more ? 1 : 0);
}

// nano / divisor, rounded away from zero, cut to int64.
int64_t RoundOut(Wide nano, Wide divisor) {
  Wide quotient = nano / divisor;
  if (nano % divisor != 0) quotient += nano < 0 ? -1 : 1;
  if (quotient > kMaxUnits) return std::numeric_limits<int64_t>::max();
  if (quotient < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(quotient);
}

std::string WideText(Wide value) {
  const bool negative = value < 0;
  std::string text;
  do {
    const int digit = static_cast<int>(value % 10);
    text.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    value /= 10;
  } while (value != 0);
  if (negative) text.push_back('-');
  return {text.rbegin(), text.rend()};
}

std::string_view SuffixText(int exponent, bool binary) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.exponent == exponent && (suffix.binary == binary || exponent == 0)) return suffix.text;
  }
  return "";
}

std::string DecimalText(Wide nano, Quantity::Format format) {
  int exponent = -9;
  while (nano % 1000 == 0 && (exponent < 18 || format == Quantity::Format::kDecimalExponent)) {
    nano /= 1000;
    exponent += 3;
  }
  std::string text = WideText(nano);
  if (format == Quantity::Format::kDecimalSI) return text.append(SuffixText(exponent, false));
  return exponent == 0 ? text : text + "e" + std::to_string(exponent);
}

std::string BinaryText(Wide units) {
  int exponent = 0;
  while (units % 1024 == 0 && exponent < 60) {
    units /= 1024;
    exponent += 10;
  }
  return WideText(units).append(SuffixText(exponent, true));
}

}  // namespace

Quantity Quantity::FromInt(int64_t units, Format format) { return Quantity(units * kNanoPerUnit, format); }

Quantity Quantity::FromMilli(int64_t milli, Format format) {
  return Quantity(milli * (kNanoPerUnit / 1000), format);
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return Fail(Bad(text, "at most " + std::to_string(kMaxText) + " characters"));
  }
  ASSIGN_OR_RETURN(const Parts parts, Split(text));
  const bool binary = parts.format == Format::kBinarySI;
  const std::optional<Wide> nano = binary ? BinaryNano(parts) : DecimalNano(parts);
  if (!nano || *nano > kMaxParsed) {
    return Fail(Bad(text, "a value between -9223372036854775807 and 9223372036854775807"));
  }
  Format format = parts.format;
  if (binary && *nano > 0 && *nano < kNanoPerUnit) format = Format::kDecimalSI;
  return Quantity(parts.negative ? -*nano : *nano, format);
}

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  const Wide magnitude = nano_ < 0 ? -nano_ : nano_;
  if (format_ == Format::kBinarySI && magnitude >= 1024 * kNanoPerUnit && IsWhole()) {
    return BinaryText(nano_ / kNanoPerUnit);
  }
  return DecimalText(nano_, format_ == Format::kDecimalExponent ? format_ : Format::kDecimalSI);
}

int64_t Quantity::Value() const { return RoundOut(nano_, kNanoPerUnit); }
int64_t Quantity::MilliValue() const { return RoundOut(nano_, kNanoPerUnit / 1000); }
bool Quantity::IsWholeMilli() const { return nano_ % (kNanoPerUnit / 1000) == 0; }
bool Quantity::IsWhole() const { return nano_ % kNanoPerUnit == 0; }

Result<Quantity> Quantity::Sum(const Quantity& a, const Quantity& b) {
  const Format format = a.nano_ == 0 ? b.format_ : a.format_;
  Wide sum = 0;
  if (__builtin_add_overflow(a.nano_, b.nano_, &sum) || sum > kMaxSum || sum < -kMaxSum) {
    return Fail(Code::kInvalid, "the sum of " + a.ToString() + " and " + b.ToString() + " is too large");
  }
  return Quantity(sum, format);
}

Result<Quantity> Quantity::Difference(const Quantity& a, const Quantity& b) {
  const Format format = a.nano_ == 0 ? b.format_ : a.format_;
  Wide difference = 0;
  if (__builtin_sub_overflow(a.nano_, b.nano_, &difference) || difference > kMaxSum ||
      difference < -kMaxSum) {
    return Fail(Code::kInvalid,
                "the difference of " + a.ToString() + " and " + b.ToString() + " is too large");
  }
  return Quantity(difference, format);
}

}  // namespace cubeplane
