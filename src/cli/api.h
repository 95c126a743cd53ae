// The API as a command sees it: calls that block until the answer is there, streams that call back, and
// progress on stderr for what takes longer than a second.
//
// Threading: one thread. A call that lost its connection midway is sent again, with the same idempotency key,
// for up to kRetryFor; a control plane that is not there at all is said at once.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "cli/exit_codes.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "json/value.h"

namespace cubeplane::cli {

struct Ask {
  std::string method = "GET";
  std::string path;  // with query
  std::string body;
  std::string content_type = "application/json";
  bool once = false;  // a create: carries an idempotency key
};

struct Answer {
  int status = 200;
  json::Value body;  // null when the answer is no JSON
  std::string raw;
};

class Api {
 public:
  static constexpr Duration kRetryFor = std::chrono::seconds(20);
  static constexpr Duration kAnswerTimeout = std::chrono::seconds(60);
  static constexpr size_t kMaxAnswer = 64u << 20;

  Api(Target target, Terminal& terminal) : target_(std::move(target)), terminal_(terminal) {}

  // The answer when its status is below 400; otherwise the failure it means.
  Outcome<Answer> Call(const Ask& ask);
  // Feeds a streamed answer to `sink` until it ends (true: the server ended it in order; false: the
  // connection broke) or `sink` returns false. A refusal (status >= 400) is a failure.
  Outcome<bool> Stream(const std::string& path, const std::function<bool(std::string_view)>& sink);

  const Target& target() const { return target_; }
  const Clock& clock() const { return clock_; }

 private:
  http::Request MakeRequest(const Ask& ask) const;
  Failure FromStatus(int status, std::string raw) const;
  Failure FromExchange(const Error& error) const;

  Target target_;
  Terminal& terminal_;
  SystemClock clock_;
  SystemRandom random_;
};

// Blocks for `duration`.
void Wait(const Clock& clock, Duration duration);

// "/api/v1/projects/demo/notebooks/nb" from parts, each percent-encoded.
std::string ApiPath(std::initializer_list<std::string_view> parts);

}  // namespace cubeplane::cli
