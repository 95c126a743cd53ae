#include <iostream>
#include <map>

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

const std::map<std::string_view, Command>& Commands() {
  static const std::map<std::string_view, Command> commands = {{"status", RunStatus},
                                                               {"version", RunVersion},
                                                               {"get", RunGet},
                                                               {"describe", RunDescribe},
                                                               {"explain", RunExplain},
                                                               {"apply", RunApply},
                                                               {"submit", RunSubmit},
                                                               {"logs", RunLogs},
                                                               {"open", RunOpen},
                                                               {"stop", RunStop},
                                                               {"start", RunStart},
                                                               {"delete", RunDelete},
                                                               {"login", RunLogin},
                                                               {"logout", RunLogout},
                                                               {"whoami", RunWhoami},
                                                               {"project list", RunProjectList},
                                                               {"project describe", RunProjectDescribe},
                                                               {"token create", RunTokenCreate},
                                                               {"token list", RunTokenList},
                                                               {"token delete", RunTokenDelete},
                                                               {"user create", RunUserCreate},
                                                               {"user list", RunUserList},
                                                               {"user disable", RunUserDisable},
                                                               {"user enable", RunUserEnable},
                                                               {"user password", RunUserPassword},
                                                               {"completion", RunCompletion}};
  return commands;
}

void PrintFailure(Terminal& terminal, const Options& options, const Failure& failure) {
  if (options.output == "json" && !failure.status.IsNull()) {
    terminal.err << json::WritePretty(failure.status) << '\n';
    return;
  }
  // Line breaks between the causes stay, each line is made harmless.
  std::string_view rest = failure.message;
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    terminal.err << (first ? "cubeplane: " : "") << Printable(rest.substr(0, end)) << '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!failure.next.empty()) terminal.err << Printable(failure.next) << '\n';
  const std::string& id = failure.status.At("details.requestId").AsString();
  if (!id.empty()) terminal.err << Say(terminal, Text::kRequestId, {{"id", Printable(id)}}) << '\n';
}

}  // namespace

Outcome<Api*> Context::GetApi() {
  if (!api_) {
    CLI_ASSIGN(Target target, FindTarget(options, terminal));
    api_ = std::make_unique<Api>(std::move(target), terminal);
  }
  return api_.get();
}

Exit RunCommand(const std::vector<std::string>& args, Terminal& terminal) {
  const Parsed parsed = ParseArguments(args, terminal.language);
  if (!parsed.options) {
    (parsed.exit == kDone ? terminal.out : terminal.err) << parsed.text << std::flush;
    return parsed.exit;
  }
  Context context{*parsed.options, terminal, nullptr};
  const Outcome<Exit> exit = Commands().at(parsed.options->command)(context);
  terminal.out << std::flush;
  if (exit) return *exit;
  PrintFailure(terminal, *parsed.options, exit.error());
  return exit.error().exit;
}

int Main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Terminal terminal = ThisTerminal(std::cout, std::cerr);
  const Exit exit = RunCommand(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), terminal);
  // A full disk or a closed pipe behind stdout must not look like success.
  if (!std::cout.flush() && exit == kDone) return kFailed;
  return exit;
}

}  // namespace cubeplane::cli
