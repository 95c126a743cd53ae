#include "engine/node/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace cubeplane::engine::node {

std::string FormatNanos(Time time) {
  const int64_t nanos = time.time_since_epoch().count();
  const int64_t seconds = nanos / 1'000'000'000 - (nanos % 1'000'000'000 < 0 ? 1 : 0);
  char fraction[16];
  snprintf(fraction, sizeof fraction, ".%09lldZ", static_cast<long long>(nanos - seconds * 1'000'000'000));
  std::string text = FormatTimeSeconds(time);
  text.pop_back();
  return text + fraction;
}

LogFile::LogFile(const Clock& clock, int dir, uid_t reader, LogLimits limits)
    : clock_(clock),
      dir_(dir),
      reader_(reader),
      limits_(limits),
      tokens_(limits.burst_bytes),
      filled_at_(clock.MonoNow()) {}

size_t LogFile::Allowance() {
  const Mono now = clock_.MonoNow();
  const auto earned = static_cast<int64_t>(std::chrono::duration<double>(now - filled_at_).count() *
                                           static_cast<double>(limits_.bytes_per_second));
  if (earned > 0) {
    tokens_ = std::min(limits_.burst_bytes, tokens_ + earned);
    filled_at_ = now;
  }
  // Small sips would cost a wake-up each: wait until there is a line's worth.
  return tokens_ < static_cast<int64_t>(limits_.line_bytes) ? 0 : static_cast<size_t>(tokens_);
}

Mono LogFile::RefillAt() const {
  const int64_t missing = std::max<int64_t>(0, static_cast<int64_t>(limits_.line_bytes) - tokens_);
  return filled_at_ + Duration(missing * 1'000'000'000 / limits_.bytes_per_second + 1'000'000);
}

void LogFile::Append(Stream stream, std::string_view bytes) {
  tokens_ -= static_cast<int64_t>(bytes.size());
  std::string& partial = partial_[stream];
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const size_t room = limits_.line_bytes - partial.size();
    const size_t take = std::min({newline, bytes.size(), room});
    partial.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (!bytes.empty() && bytes[0] == '\n') {
      bytes.remove_prefix(1);
      Line(stream, partial, true);
      partial.clear();
    } else if (partial.size() == limits_.line_bytes) {
      Line(stream, partial, false);
      partial.clear();
    }
  }
}

void LogFile::Flush(Stream stream) {
  if (!partial_[stream].empty()) Line(stream, partial_[stream], true);
  partial_[stream].clear();
}

void LogFile::Line(Stream stream, std::string_view text, bool whole) {
  if (stream == kStderr) last_error_line_.assign(text.substr(0, 1024));
  std::string line = FormatNanos(clock_.Now());
  line += stream == kStdout ? " stdout " : " stderr ";
  line += whole ? "F " : "P ";
  line += text;
  line += '\n';
  if (size_ > 0 && size_ + static_cast<int64_t>(line.size()) > limits_.file_bytes) Rotate();
  if (!file_ && !Open()) {
    ++dropped_;
    return;
  }
  const off_t before = lseek(file_.get(), 0, SEEK_END);
  if (!WriteAll(file_.get(), line)) {
    ++dropped_;
    // A half line would glue itself to the next one.
    if (before >= 0 && ftruncate(file_.get(), before) != 0) file_.Reset();
    return;
  }
  size_ = before + static_cast<int64_t>(line.size());
}

Result<void> LogFile::Open() {
  ASSIGN_OR_RETURN(file_, OpenBeneath(dir_, "log", O_WRONLY | O_CREAT | O_APPEND, 0600));
  if (reader_ != geteuid()) {
    if (fchown(file_.get(), reader_, static_cast<gid_t>(-1)) != 0)
      return Fail(SysError("handing over the log"));
    if (fchmod(file_.get(), 0400) != 0) return Fail(SysError("setting the mode of the log"));
  }
  struct stat info{};
  if (fstat(file_.get(), &info) == 0) size_ = info.st_size;
  return {};
}

void LogFile::Rotate() {
  file_.Reset();
  renameat(dir_, "log", dir_, "log.1");
  size_ = 0;
}

}  // namespace cubeplane::engine::node
