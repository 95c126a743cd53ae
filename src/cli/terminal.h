// What the program knows of the terminals it writes to, and the few things that only a terminal can do.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "model/reasons.h"

namespace cubeplane::cli {

enum class Colour { kNone, kRunning, kWaiting, kFailed, kEnded };

// Where a command writes and how. The real one is made by `ThisTerminal`; tests fill it by hand.
// Lifetime: the streams outlive it.
struct Terminal {
  std::ostream& out;        // data
  std::ostream& err;        // everything else
  bool out_is_tty = false;  // false: nothing is cut, times are RFC 3339
  bool err_is_tty = false;  // progress may rewrite its line
  bool in_is_tty = false;   // questions may be asked
  bool colour = false;
  size_t columns = 80;  // of stdout, when it is a terminal
  model::Language language = model::Language::kEn;
};

Terminal ThisTerminal(std::ostream& out, std::ostream& err);

// LC_ALL, else LC_MESSAGES, else LANG.
model::Language LanguageOfEnvironment();

// `text` in the colour, when the terminal wants colours.
std::string Paint(const Terminal& terminal, Colour colour, std::string_view text);
// The colour of a workload's phase ("running").
Colour ColourOfPhase(std::string_view phase);

// Asks on stderr and reads a line; true for y, yes, 是. Only when in_is_tty.
bool Confirm(Terminal& terminal, std::string_view question);
// A line from stdin without the final newline; `secret` turns the echo off. nullopt at the end of input. At
// most 1 KiB.
std::optional<std::string> ReadLine(bool secret);

}  // namespace cubeplane::cli
