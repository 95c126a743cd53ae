#include "auth/attempts.h"

#include <algorithm>

namespace cubeplane::auth {
namespace {

std::unexpected<Error> TooMany(Duration wait) {
  const auto seconds = std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count());
  return Fail(Error(Code::kTooMany, "too_many_attempts", {{"seconds", std::to_string(seconds)}},
                    "too many attempts to sign in"));
}

}  // namespace

void Attempts::Refill(Mono now) {
  if (global_at_ == Mono()) global_at_ = now;
  const int64_t whole = (now - global_at_) / settings_.global_refill;
  if (whole <= 0) return;
  global_left_ = static_cast<int>(std::min<int64_t>(settings_.global_burst, global_left_ + whole));
  global_at_ += whole * settings_.global_refill;
}

Attempts::Entry& Attempts::EntryOf(std::string_view account) {
  const auto found = accounts_.find(account);
  if (found != accounts_.end()) return found->second;
  if (accounts_.size() >= settings_.max_accounts) {
    accounts_.erase(
        std::ranges::min_element(accounts_, {}, [](const auto& entry) { return entry.second.last; }));
  }
  return accounts_[std::string(account)];
}

Result<void> Attempts::Begin(std::string_view account, Mono now) {
  Refill(now);
  if (global_left_ == 0) return TooMany(settings_.global_refill);
  Entry& entry = EntryOf(account);
  if (now < entry.blocked_until) return TooMany(entry.blocked_until - now);
  --global_left_;
  ++entry.failures;
  entry.last = now;
  if (entry.failures >= settings_.free_failures) {
    const int doublings = std::min(entry.failures - settings_.free_failures, 20);
    const Duration wait = std::chrono::seconds(int64_t{1} << doublings);
    entry.blocked_until = now + std::min(wait, settings_.max_wait);
  }
  return {};
}

void Attempts::Succeeded(std::string_view account) {
  const auto found = accounts_.find(account);
  if (found != accounts_.end()) accounts_.erase(found);
}

}  // namespace cubeplane::auth
