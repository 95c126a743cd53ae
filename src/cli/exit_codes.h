// Exit codes of the command line, and how a command's failure reaches the one place that prints it.
#pragma once

#include <expected>
#include <string>

#include "base/error.h"
#include "json/value.h"

namespace cubeplane::cli {

enum Exit : int {
  kDone = 0,
  kFailed = 1,  // the workload failed, or anything without a code of its own
  kUsage = 2,
  kNotFound = 3,
  kNotAllowed = 4,  // no sign-in, or no right
  kConflict = 5,    // it changed, or is there already
  kInvalid = 6,
  kQuota = 7,    // over quota, or never fits
  kTimeout = 8,  // also: still waits
  kNoCubeplane = 9,
  kClusterSilent = 10,
  kStore = 11,  // the control plane's disk
  kInterrupted = 130,
};

struct Failure {
  Exit exit = kFailed;
  std::string message;  // in the person's language, what happened and why
  std::string next;     // what to do; may be empty
  json::Value status;   // the API's Status, when it came from there

  Failure(Exit exit, std::string message, std::string next = {})
      : exit(exit), message(std::move(message)), next(std::move(next)) {}
};

template <class T = void>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> Fail(Exit exit, std::string message, std::string next = {}) {
  return std::unexpected<Failure>(Failure(exit, std::move(message), std::move(next)));
}

// The exit code for an answer of the API; `reason_code` is details.code of its Status.
Exit ExitFor(int http_status, std::string_view reason_code);

}  // namespace cubeplane::cli

// Leave the function with the failure of `expr`; the second form declares a value.
#define CLI_TRY(expr) \
  if (auto outcome = (expr); !outcome) return std::unexpected(std::move(outcome.error()))
#define CLI_CONCAT_(a, b) a##b
#define CLI_CONCAT(a, b) CLI_CONCAT_(a, b)
#define CLI_ASSIGN(declaration, expr)                                          \
  auto CLI_CONCAT(outcome_, __LINE__) = (expr);                                \
  if (!CLI_CONCAT(outcome_, __LINE__))                                         \
    return std::unexpected(std::move(CLI_CONCAT(outcome_, __LINE__).error())); \
  declaration = std::move(*CLI_CONCAT(outcome_, __LINE__))
