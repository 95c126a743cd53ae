// What every command gets, and the commands.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/api.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/texts.h"

namespace cubeplane::cli {

// Lifetime: one command.
struct Context {
  const Options& options;
  Terminal& terminal;
  std::unique_ptr<Api> api_;  // made by the first command that asks

  // The API of the target that the options name.
  Outcome<Api*> GetApi();
  std::string T(Text text, const TextParams& params = {}) const { return Say(terminal, text, params); }
};

// Parses, runs and reports one command line (without the program's name).
Exit RunCommand(const std::vector<std::string>& args, Terminal& terminal);

// Each gives the exit code of a command that did what it should.
using Command = Outcome<Exit> (*)(Context&);

// commands_read.cc
Outcome<Exit> RunGet(Context& context);
Outcome<Exit> RunDescribe(Context& context);
Outcome<Exit> RunExplain(Context& context);
Outcome<Exit> RunProjectList(Context& context);
Outcome<Exit> RunProjectDescribe(Context& context);
// commands_status.cc
Outcome<Exit> RunStatus(Context& context);
Outcome<Exit> RunVersion(Context& context);
// commands_write.cc
Outcome<Exit> RunApply(Context& context);
Outcome<Exit> RunSubmit(Context& context);
Outcome<Exit> RunStop(Context& context);
Outcome<Exit> RunStart(Context& context);
Outcome<Exit> RunDelete(Context& context);
Outcome<Exit> RunOpen(Context& context);
// commands_logs.cc
Outcome<Exit> RunLogs(Context& context);
// commands_account.cc
Outcome<Exit> RunLogin(Context& context);
Outcome<Exit> RunLogout(Context& context);
Outcome<Exit> RunWhoami(Context& context);
Outcome<Exit> RunTokenCreate(Context& context);
Outcome<Exit> RunTokenList(Context& context);
Outcome<Exit> RunTokenDelete(Context& context);
Outcome<Exit> RunUserCreate(Context& context);
Outcome<Exit> RunUserList(Context& context);
Outcome<Exit> RunUserDisable(Context& context);
Outcome<Exit> RunUserEnable(Context& context);
Outcome<Exit> RunUserPassword(Context& context);
// completion.cc
Outcome<Exit> RunCompletion(Context& context);

}  // namespace cubeplane::cli
