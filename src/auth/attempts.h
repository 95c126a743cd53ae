// Brake on guessing passwords: per account and over all of them. Not per address: through `ssh -L` everybody
// is 127.0.0.1.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace cubeplane::auth {

// In memory only: a restart forgives. Threading: on the control thread.
class Attempts {
 public:
  struct Settings {
    int free_failures = 5;                             // without a wait
    Duration max_wait = std::chrono::minutes(15);      // the wait doubles from one second up to it
    int global_burst = 60;                             // attempts at once over all accounts …
    Duration global_refill = std::chrono::seconds(1);  // … and one more each
    size_t max_accounts = 10'000;  // remembered; the one that failed least lately is forgotten
  };
  explicit Attempts(Settings settings) : settings_(settings), global_left_(settings.global_burst) {}

  // Counts an attempt as failed until Succeeded says otherwise, so that many at once are no way around.
  // kTooMany with the seconds to wait.
  Result<void> Begin(std::string_view account, Mono now);
  void Succeeded(std::string_view account);

 private:
  struct Entry {
    int failures = 0;
    Mono last, blocked_until;
  };
  void Refill(Mono now);
  Entry& EntryOf(std::string_view account);

  const Settings settings_;
  std::map<std::string, Entry, std::less<>> accounts_;
  int global_left_;
  Mono global_at_{};
};

}  // namespace cubeplane::auth
