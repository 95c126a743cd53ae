// How wide text stands on a terminal, and text from elsewhere made harmless for one. Pure.
#pragma once

#include <string>
#include <string_view>

namespace cubeplane::cli {

// Columns that UTF-8 `text` takes: 2 for East Asian wide and full-width characters, 0 for combining ones.
// Bytes that are not UTF-8 count 1 each.
size_t DisplayWidth(std::string_view text);
// `text` and blanks up to `width` columns.
std::string PadTo(std::string_view text, size_t width);
// At most `width` columns, with "…" in place of what was cut.
std::string CutTo(std::string_view text, size_t width);
// Control characters (C0 but tab, DEL, C1) replaced by "·": for names and sentences.
std::string Printable(std::string_view text);

// A stream of log text made harmless: colours (ESC […m) and carriage returns pass, other escape sequences and
// control characters go. Keeps state between pieces, so that a sequence cut in two is still seen.
class LogFilter {
 public:
  std::string Pass(std::string_view piece);

 private:
  enum class State { kText, kEscape, kSequence, kString, kStringEscape, kC1 };
  State state_ = State::kText;
  std::string sequence_;
};

}  // namespace cubeplane::cli
