// Time, injected. Only base and async read the system's clocks.
//
// `Time` is wall time (UTC, for people and the store), `Mono` is monotonic (for leases, back-off, grace).
// Both count nanoseconds in 64 bits.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cubeplane {

using Duration = std::chrono::nanoseconds;
struct WallEpoch {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<WallEpoch, Duration>;
  static constexpr bool is_steady = false;
};
struct MonoEpoch {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<MonoEpoch, Duration>;
  static constexpr bool is_steady = true;
};
using Time = WallEpoch::time_point;  // since 1970-01-01T00:00:00Z
using Mono = MonoEpoch::time_point;  // since an arbitrary start

// Threading: implementations are safe from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
  virtual Mono MonoNow() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  Time Now() const override;
  Mono MonoNow() const override;
};

// A clock that stands still until told. For tests and the simulation; single-threaded.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = Time(std::chrono::seconds(1'800'000'000))) : now_(start) {}
  Time Now() const override { return now_; }
  Mono MonoNow() const override { return mono_; }
  void Advance(Duration by) {
    now_ += by;
    mono_ += by;
  }
  // Moves wall time only, as a clock step does.
  void Step(Duration by) { now_ += by; }

 private:
  Time now_;
  Mono mono_{std::chrono::seconds(1000)};
};

// "2026-03-04T06:02:07.123Z": RFC 3339, UTC, milliseconds.
std::string FormatTime(Time time);
// "2026-03-04T06:02:07Z": as Kubernetes writes metav1.Time.
std::string FormatTimeSeconds(Time time);
// Reads RFC 3339 with any fraction and offset; nullopt when malformed or out of range.
std::optional<Time> ParseTime(std::string_view text);
// "41m", "2h10m", "6d": at most two units, for people.
std::string FormatDuration(Duration duration);

}  // namespace cubeplane
