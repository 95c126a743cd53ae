// Exponential back-off with jitter.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"

namespace cubeplane::async {

// Waits of min × 2^n up to max, each between half and whole of that ("equal jitter"), so that many clients do
// not return at the same moment.
class Backoff {
 public:
  Backoff(Duration min, Duration max, Random& random) : min_(min), max_(max), random_(random) {}
  Duration Next() {
    const Duration full = std::min(max_, min_ * (int64_t{1} << std::min(attempt_, 30)));
    ++attempt_;
    const auto half = static_cast<uint64_t>(full.count() / 2);
    return Duration(static_cast<int64_t>(half + random_.Below(half + 1)));
  }
  void Reset() { attempt_ = 0; }
  int attempt() const { return attempt_; }

 private:
  Duration min_, max_;
  Random& random_;
  int attempt_ = 0;
};

}  // namespace cubeplane::async
