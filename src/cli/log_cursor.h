// Where a followed log is: which lines have been shown, so that a broken stream goes on without a gap or a
// repeat. Pure.
#pragma once

#include <string>
#include <string_view>

namespace cubeplane::cli {

// Lines come as "<RFC 3339 time> text\n" (`timestamps=1`), in order of time, in pieces of any size.
class LogCursor {
 public:
  // A new stream of the same attempt begins at its first line.
  void Rewind();
  // A further attempt: nothing of it has been shown.
  void Reset() { *this = {}; }
  // The new lines of `piece`, each with its newline, without their times unless `keep_times`.
  std::string Take(std::string_view piece, bool keep_times);
  // What came after the last newline: a last line without one.
  std::string TakeRest(bool keep_times);

 private:
  std::string OneLine(std::string_view line, bool keep_times);

  std::string rest_;
  std::string last_time_;    // of the last line shown
  size_t at_last_time_ = 0;  // lines shown that have it
  size_t seen_again_ = 0;    // lines with it in the present stream
};

}  // namespace cubeplane::cli
