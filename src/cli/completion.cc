// completion: scripts for bash, zsh and fish, made from the commands that the parser knows.
#include <set>

#include "cli/context.h"

namespace cubeplane::cli {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// First words ("get"), and what follows those that have commands of their own ("project": list, describe).
struct Words {
  std::vector<std::string> first;
  std::vector<std::pair<std::string, std::vector<std::string>>> second;
};

Words WordsOf(const std::vector<CommandInfo>& commands) {
  Words words;
  for (const CommandInfo& command : commands) {
    const size_t blank = command.name.find(' ');
    const std::string first = command.name.substr(0, blank);
    if (words.first.empty() || words.first.back() != first) words.first.push_back(first);
    if (blank == std::string::npos) continue;
    if (words.second.empty() || words.second.back().first != first) words.second.push_back({first, {}});
    words.second.back().second.push_back(command.name.substr(blank + 1));
  }
  return words;
}

// Names come from the API; 300 ms, then nothing: a completion must not hang.
constexpr std::string_view kNames = "timeout 0.3 cubeplane get all -o name 2>/dev/null";

std::string Bash(const std::vector<CommandInfo>& commands, const Words& words) {
  std::string script = "_cubeplane() {\n  local cur=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]}\n";
  script += "  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '" + Joined(words.first) +
            "' -- \"$cur\")); return; fi\n";
  script += "  case $first in\n";
  for (const auto& [first, second] : words.second) {
    script += "  " + first + ") if [ \"$COMP_CWORD\" = 2 ]; then COMPREPLY=($(compgen -W '" + Joined(second) +
              "' -- \"$cur\")); return; fi ;;\n";
  }
  script += "  esac\n  case $cur in\n  -*) case $first in\n";
  for (const CommandInfo& command : commands) {
    if (command.name.find(' ') != std::string::npos) continue;
    script += "    " + command.name + ") COMPREPLY=($(compgen -W '" + Joined(command.flags) +
              "' -- \"$cur\")) ;;\n";
  }
  script +=
      "    esac ;;\n  *) case $first in\n    get|describe|logs|open|stop|start|delete|explain) "
      "COMPREPLY=($(compgen -W \"$(" +
      std::string(kNames) +
      ")\" -- \"$cur\")) ;;\n    apply|submit) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac ;;\n  "
      "esac\n}\n";
  script += "complete -o filenames -F _cubeplane cubeplane\n";
  return script;
}

std::string Fish(const std::vector<CommandInfo>& commands) {
  std::string script = "complete -c cubeplane -f\n";
  std::set<std::string> seen;
  for (const CommandInfo& command : commands) {
    const size_t blank = command.name.find(' ');
    const std::string first = command.name.substr(0, blank);
    if (seen.insert(first).second)
      script += "complete -c cubeplane -n __fish_use_subcommand -a " + first + "\n";
    if (blank != std::string::npos) {
      script += "complete -c cubeplane -n '__fish_seen_subcommand_from " + first + "' -a " +
                command.name.substr(blank + 1) + "\n";
      continue;
    }
    for (const std::string& flag : command.flags) {
      script +=
          "complete -c cubeplane -n '__fish_seen_subcommand_from " + first + "' -l " + flag.substr(2) + "\n";
    }
  }
  script +=
      "complete -c cubeplane -n '__fish_seen_subcommand_from get describe logs open stop start delete "
      "explain' -a '(" +
      std::string(kNames) + ")'\n";
  script += "complete -c cubeplane -n '__fish_seen_subcommand_from apply submit' -F\n";
  return script;
}

}  // namespace

Outcome<Exit> RunCompletion(Context& context) {
  const std::string shell = context.options.args.size() == 1 ? context.options.args[0] : "";
  const std::vector<CommandInfo> commands = AllCommands(context.terminal.language);
  const Words words = WordsOf(commands);
  if (shell == "bash") {
    context.terminal.out << Bash(commands, words);
  } else if (shell == "zsh") {
    context.terminal.out << "autoload -U +X bashcompinit && bashcompinit\n" << Bash(commands, words);
  } else if (shell == "fish") {
    context.terminal.out << Fish(commands);
  } else {
    return Fail(kUsage, context.T(Text::kWhichShell));
  }
  return kDone;
}

}  // namespace cubeplane::cli
