#include "cli/log_cursor.h"

namespace cubeplane::cli {
namespace {

// Times of one stream have one form (UTC, 9 digits or fewer), so that they compare as text once the `Z` is
// gone.
std::string_view Comparable(std::string_view time) {
  return time.ends_with('Z') ? time.substr(0, time.size() - 1) : time;
}

}  // namespace

void LogCursor::Rewind() {
  rest_.clear();
  seen_again_ = 0;
}

std::string LogCursor::Take(std::string_view piece, bool keep_times) {
  rest_ += piece;
  std::string out;
  size_t start = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
    out += OneLine(std::string_view(rest_).substr(start, end - start), keep_times);
    start = end + 1;
  }
  rest_.erase(0, start);
  return out;
}

std::string LogCursor::TakeRest(bool keep_times) {
  if (rest_.empty()) return {};
  const std::string line = std::move(rest_);
  rest_.clear();
  return OneLine(line, keep_times);
}

std::string LogCursor::OneLine(std::string_view line, bool keep_times) {
  const size_t blank = line.find(' ');
  const std::string_view time = line.substr(0, blank);
  const std::string_view text = blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  if (time == last_time_) {
    if (++seen_again_ <= at_last_time_) return {};
    ++at_last_time_;
  } else if (Comparable(time) < Comparable(last_time_)) {
    return {};
  } else {
    last_time_ = time;
    at_last_time_ = seen_again_ = 1;
  }
  return std::string(keep_times ? line : text) + "\n";
}

}  // namespace cubeplane::cli
