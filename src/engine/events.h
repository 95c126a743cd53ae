// Events: what happened to an object, for people. Repeats are counted, the number and the age are bounded.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/registry.h"

namespace cubeplane::engine {

inline constexpr Duration kEventAge = std::chrono::hours(1);
inline constexpr size_t kMaxEvents = 2'000;

// Threading: the control thread only.
class Recorder {
 public:
  Recorder(const Cluster& cluster, Registry& registry) : cluster_(cluster), registry_(registry) {}
  // `type` is "Normal" or "Warning". A refusal is logged by nobody: an event is never worth more than the
  // work.
  void Record(const Kind& kind, const json::Value& about, std::string_view type, std::string_view reason,
              const std::string& message, std::string_view component);
  // Removes what is older than kEventAge, and the oldest beyond kMaxEvents.
  void Prune();

 private:
  const Cluster& cluster_;
  Registry& registry_;
  size_t since_prune_ = 0;
};

}  // namespace cubeplane::engine
