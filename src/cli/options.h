// What the person typed, read. `parse.cc` is the only file that knows the option library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "model/reasons.h"

namespace cubeplane::cli {

struct Options {
  std::string command;            // "get", "project list"
  std::vector<std::string> args;  // what follows the command, in order

  // Where cubeplane is.
  std::string data, server;

  std::string project;        // -p
  bool all_projects = false;  // -A
  std::string output;         // "", wide, yaml, json, name
  std::string selector;       // -l
  bool watch = false;         // -w
  std::string file;           // -f FILE, - for stdin
  bool dry_run = false;
  bool follow = false;  // logs -f
  bool timestamps = false;
  std::optional<int64_t> tail, attempt;
  std::string name;  // submit --name
  bool yes = false;
  bool no_headers = false;

  // login, users, tokens
  std::string user, display_name, label, scope;
  bool admin = false, password_stdin = false;
  std::optional<int64_t> expires_seconds;
};

// The usual way: options to run. Otherwise the text that was asked for (help, exit 0) or what is wrong (exit
// 2).
struct Parsed {
  std::optional<Options> options;
  std::string text;
  Exit exit = kDone;
};
Parsed ParseArguments(const std::vector<std::string>& args, model::Language language);

// For completion: every command ("get", "project list"), with its long options.
struct CommandInfo {
  std::string name, description;
  std::vector<std::string> flags;
};
std::vector<CommandInfo> AllCommands(model::Language language);

}  // namespace cubeplane::cli
