// Kubernetes' resource.Quantity, exactly: grammar, arithmetic, comparison and canonical text as
// k8s.io/apimachinery/pkg/api/resource does them.
//
// A Quantity is an integer count of 10^-9 in 128 bits and the form it was written in. It is a plain value,
// cheap to copy. There is no "unlimited": that is an absent entry, never a number.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cubeplane {

class Quantity {
 public:
  enum class Format : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  constexpr Quantity() = default;
  static Quantity FromInt(int64_t units, Format format = Format::kDecimalSI);
  static Quantity FromMilli(int64_t milli, Format format = Format::kDecimalSI);
  // From a count of 10^-9.
  static constexpr Quantity FromNano(__int128 nano, Format format = Format::kDecimalSI) {
    return Quantity(nano, format);
  }

  // Reads `[+-]digits[.digits][suffix]`, suffix one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e/E with an
  // exponent. Finer than 10^-9 rounds up (away from zero), as Kubernetes does. Errors: kInvalid with what was
  // found and what is allowed, for malformed text and for values beyond ±(2^63−1) units. Time and memory are
  // bounded by the text's length, which may be at most kMaxText.
  //
  // Stricter than apimachinery in three places, where it takes what was not meant: values beyond the limit
  // are errors (it cuts binary ones and lets decimal ones grow past what a server can add), exponents beyond
  // 32 bits are errors (it wraps them), and a text without any digit ("", "+", "Ki") is an error (it reads
  // 0).
  static Result<Quantity> Parse(std::string_view text);
  static constexpr size_t kMaxText = 64;

  // The canonical text ("1500m", "128Mi", "1e3"), as CanonicalizeBytes makes it. (apimachinery repeats some
  // texts as they were written, such as "+5" and "1.500"; here every value has one text per form.)
  std::string ToString() const;

  bool IsZero() const { return nano_ == 0; }
  bool IsNegative() const { return nano_ < 0; }
  __int128 nano() const { return nano_; }
  Format format() const { return format_; }

  // Rounded away from zero to the unit, saturating at the ends of int64, as Quantity.Value() and
  // MilliValue(). (Those wrap at the ends, and round some negative amounts the other way.)
  int64_t Value() const;
  int64_t MilliValue() const;
  // True when it is a whole number of 10^-3 (of units).
  bool IsWholeMilli() const;
  bool IsWhole() const;

  // Sums; kInvalid on overflow of ±(2^63−1) × 10^9 units (far above anything Parse returns).
  static Result<Quantity> Sum(const Quantity& a, const Quantity& b);
  static Result<Quantity> Difference(const Quantity& a, const Quantity& b);

  // By value only: "1" == "1000m".
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nano_ <=> b.nano_;
  }
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }

 private:
  constexpr Quantity(__int128 nano, Format format) : nano_(nano), format_(format) {}

  __int128 nano_ = 0;
  Format format_ = Format::kDecimalSI;
};

}  // namespace cubeplane
