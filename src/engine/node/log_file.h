// A pod's output on disk, in CRI format: `<RFC 3339 with nanoseconds> <stdout|stderr> <P|F> <text>`.
//
// Lines longer than 16 KiB are cut into P parts. Two files at most, `log` and `log.1`, each bounded. A token
// bucket bounds what is read from the pod: when it is empty the caller stops reading, and the pod's writes
// wait in their pipe. Threading: one owner. A write that fails (disk full) drops that line and is counted;
// the next line is tried again.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

struct LogLimits {
  size_t line_bytes = 16u << 10;
  int64_t file_bytes = 16ll << 20;
  int64_t bytes_per_second = 2ll << 20;
  int64_t burst_bytes = 8ll << 20;
};

class LogFile {
 public:
  enum Stream { kStdout, kStderr };
  // Appends to `log` in `dir`. The files belong to `reader`, who may only read them.
  LogFile(const Clock& clock, int dir, uid_t reader, LogLimits limits = {});

  // Bytes that may be read now; 0 means: wait for RefillAt().
  size_t Allowance();
  Mono RefillAt() const;
  void Append(Stream stream, std::string_view bytes);
  // Writes what is left of an unfinished line.
  void Flush(Stream stream);
  // The last whole line of stderr, for messages about a sandbox that did not start.
  const std::string& last_error_line() const { return last_error_line_; }
  int64_t dropped_lines() const { return dropped_; }

 private:
  void Line(Stream stream, std::string_view text, bool whole);
  Result<void> Open();
  void Rotate();

  const Clock& clock_;
  const int dir_;
  const uid_t reader_;
  const LogLimits limits_;
  Fd file_;
  int64_t size_ = 0;
  std::array<std::string, 2> partial_;
  std::string last_error_line_;
  int64_t dropped_ = 0;
  int64_t tokens_;
  Mono filled_at_;
};

// "2026-03-04T06:02:07.123456789Z".
std::string FormatNanos(Time time);

}  // namespace cubeplane::engine::node
