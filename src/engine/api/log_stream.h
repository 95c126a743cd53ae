// A pod's output: the CRI lines of its log file as the text that the pod wrote.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "http/message.h"

namespace cubeplane::engine {

struct LogOptions {
  bool follow = false;
  bool timestamps = false;
  std::optional<int64_t> tail_lines;
  std::optional<int64_t> limit_bytes;
  std::optional<Time> since;
};

inline constexpr Duration kLogPoll = std::chrono::milliseconds(200);
inline constexpr size_t kLogPiece = 64 << 10;  // bytes read from the file at once
inline constexpr int64_t kMaxTailLines = 1'000'000;

// Reads `path` and the rotated file before it (suffix ".1"). When following, ends once `ended` says that
// nothing more will be written and the file is read to its end. A file that is not there is empty. Threading:
// the control thread.
std::shared_ptr<http::BodyStream> MakeLog(async::Executor& executor, std::string path,
                                          const LogOptions& options, std::function<bool()> ended);

}  // namespace cubeplane::engine
