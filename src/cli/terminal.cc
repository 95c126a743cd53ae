#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace cubeplane::cli {
namespace {

constexpr size_t kMaxLine = 1024;

std::string_view Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

size_t Columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

// Turns the terminal's echo off for as long as it lives.
class QuietTerminal {
 public:
  QuietTerminal() {
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    active_ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~QuietTerminal() {
    if (active_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }

 private:
  termios before_{};
  bool active_ = false;
};

}  // namespace

model::Language LanguageOfEnvironment() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    if (const std::string_view value = Env(name); !value.empty()) return model::ParseLanguage(value);
  }
  return model::Language::kEn;
}

Terminal ThisTerminal(std::ostream& out, std::ostream& err) {
  Terminal terminal{.out = out, .err = err};
  terminal.out_is_tty = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_tty = isatty(STDERR_FILENO) == 1;
  terminal.in_is_tty = isatty(STDIN_FILENO) == 1;
  terminal.colour = terminal.out_is_tty && Env("NO_COLOR").empty() && Env("TERM") != "dumb";
  if (terminal.out_is_tty) terminal.columns = Columns();
  terminal.language = LanguageOfEnvironment();
  return terminal;
}

std::string Paint(const Terminal& terminal, Colour colour, std::string_view text) {
  if (!terminal.colour || colour == Colour::kNone) return std::string(text);
  const char* code = "";
  switch (colour) {
    case Colour::kRunning:
      code = "34";
      break;
    case Colour::kWaiting:
      code = "33";
      break;
    case Colour::kFailed:
      code = "31";
      break;
    case Colour::kEnded:
      code = "90";
      break;
    case Colour::kNone:
      break;
  }
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

Colour ColourOfPhase(std::string_view phase) {
  if (phase == "running" || phase == "starting" || phase == "admitted") return Colour::kRunning;
  if (phase == "waiting" || phase == "stopping") return Colour::kWaiting;
  if (phase == "failed") return Colour::kFailed;
  if (phase == "succeeded" || phase == "stopped") return Colour::kEnded;
  return Colour::kNone;
}

bool Confirm(Terminal& terminal, std::string_view question) {
  terminal.err << question << " [y/N] " << std::flush;
  const std::optional<std::string> line = ReadLine(false);
  return line && (*line == "y" || *line == "Y" || *line == "yes" || *line == "是");
}

std::optional<std::string> ReadLine(bool secret) {
  std::optional<QuietTerminal> quiet;
  if (secret) quiet.emplace();
  std::string line;
  char byte = 0;
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (byte == '\n') return line;
    if (line.size() < kMaxLine) line += byte;
  }
}

}  // namespace cubeplane::cli
