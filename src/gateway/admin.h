// HAProxy's admin socket: one connection per command, bounded in time and size. Blocking; call off the
// control thread.
//
// Whoever reaches this socket rules the gateway: it lies in a folder of mode 0700.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace cubeplane::gateway {

inline constexpr size_t kMaxAnswer = 16u << 20;  // bytes

struct MapEntry {
  std::string key, value;
  bool operator==(const MapEntry&) const = default;
};

class AdminSocket {
 public:
  explicit AdminSocket(std::string path, Duration timeout = std::chrono::seconds(10))
      : path_(std::move(path)), timeout_(timeout) {}

  // The whole answer without trailing newlines. Errors: kInvalid (a word that may not be sent), kUnavailable
  // (nobody answers), kTimeout, kTooLarge.
  Result<std::string> Ask(const std::vector<std::string_view>& words) const;
  // For commands that answer nothing, or `expected`, when they succeed; anything else is kConflict with the
  // answer.
  Result<void> Tell(const std::vector<std::string_view>& words, std::string_view expected = "") const;

  // `show map`. Duplicate keys are given as they are.
  Result<std::vector<MapEntry>> Map(std::string_view map) const;
  // Names of the servers of `backend`.
  Result<std::vector<std::string>> Servers(std::string_view backend) const;
  struct Info {
    int pid = 0;
    std::string description;
    bool stopping = false;
  };
  Result<Info> ShowInfo() const;

 private:
  std::string path_;
  Duration timeout_;
};

}  // namespace cubeplane::gateway
