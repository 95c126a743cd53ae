#include "cli/width.h"

#include <cstdint>

namespace cubeplane::cli {
namespace {

constexpr size_t kMaxSequence = 32;  // longer escape sequences are no colours

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

Character Next(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) return {first, 1, false};
  uint32_t code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  return {code, length, true};
}

struct Range {
  uint32_t first, last;
};
// Unicode's East Asian Width W and F, in blocks.
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},  {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Range kZero[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

template <size_t N>
bool In(const Range (&ranges)[N], uint32_t code) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

size_t WidthOf(const Character& c) {
  if (!c.valid) return 1;
  if (In(kZero, c.code)) return 0;
  return In(kWide, c.code) ? 2 : 1;
}

bool IsControl(uint32_t code) { return (code < 0x20 && code != '\t') || (code >= 0x7F && code <= 0x9F); }

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character c = Next(text);
    width += WidthOf(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string PadTo(std::string_view text, size_t width) {
  const size_t has = DisplayWidth(text);
  return std::string(text) + std::string(has < width ? width - has : 0, ' ');
}

std::string CutTo(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  size_t used = 1;  // the "…"
  while (!text.empty()) {
    const Character c = Next(text);
    if (used + WidthOf(c) > width) break;
    used += WidthOf(c);
    out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out + "…";
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = Next(text);
    if (c.valid && IsControl(c.code)) {
      out += "·";
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string LogFilter::Pass(std::string_view piece) {
  std::string out;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    switch (state_) {
      case State::kText:
        if (byte == 0x1B) {
          state_ = State::kEscape;
        } else if (byte == 0xC2) {
          state_ = State::kC1;
        } else if (byte >= 0x20 ? byte != 0x7F : (c == '\t' || c == '\n' || c == '\r')) {
          out += c;
        }
        break;
      case State::kC1:  // C2 80…9F are the C1 controls, C2 A0…BF ordinary characters
        if (byte >= 0xA0) out += '\xC2', out += c;
        state_ = State::kText;
        break;
      case State::kEscape:
        sequence_ = "\x1B[";
        // ESC ] P X ^ _ start a string that ends with BEL or ESC backslash; all else is one character long.
        state_ = c == '['                                                      ? State::kSequence
                 : std::string_view("]PX^_").find(c) != std::string_view::npos ? State::kString
                                                                               : State::kText;
        break;
      case State::kSequence:
        sequence_ += c;
        if (byte >= 0x40 && byte <= 0x7E) {
          if (c == 'm') out += sequence_;
          state_ = State::kText;
        } else if (sequence_.size() > kMaxSequence || byte < 0x20 || byte > 0x7E) {
          state_ = State::kText;
        }
        break;
      case State::kString:
        if (byte == 0x07 || c == '\n') state_ = State::kText;
        if (byte == 0x1B) state_ = State::kStringEscape;
        break;
      case State::kStringEscape:
        state_ = c == '\\' ? State::kText : State::kString;
        break;
    }
  }
  return out;
}

}  // namespace cubeplane::cli
