// The grammar of the command line. The only file that includes the option library.
#include <CLI/CLI.hpp>
#include <map>

#include "cli/options.h"
#include "cli/texts.h"

namespace cubeplane::cli {
namespace {

using model::Language;

// One parser with the options that it fills.
class Grammar {
 public:
  explicit Grammar(Language language) : language_(language), app_(T(Text::kAbout), "cubeplane") {
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", T(Text::kHelpHelp));
    app_.fallthrough(false);
    Labels(app_);
    AddReading();
    AddWriting();
    AddAccount();
    AddForeign();
  }

  CLI::App& app() { return app_; }
  Options& options() { return options_; }

  Parsed Parse(std::vector<std::string> args) {
    // The library says "a command is missing" of a word that is none.
    const std::string first_word = args.empty() || args[0].starts_with("-") ? "" : args[0];
    try {
      std::ranges::reverse(args);
      app_.parse(args);
      options_.command = CommandOf(app_);
      return {options_, {}, kDone};
    } catch (const CLI::CallForHelp&) {
      return {std::nullopt, Deepest(app_).help("", CLI::AppFormatMode::Normal), kDone};
    } catch (const CLI::Error& error) {
      const CLI::App& at = Deepest(app_);
      std::string text = "cubeplane: " + Problem(error, first_word) + "\n";
      text += Say(language_, Text::kSeeHelp,
                  {{"command", at.get_parent() == nullptr ? "cubeplane" : "cubeplane " + CommandOf(app_)}}) +
              "\n";
      return {std::nullopt, text, kUsage};
    }
  }

 private:
  std::string T(Text text) const { return Say(language_, text); }

  void Labels(CLI::App& app) {
    if (language_ != Language::kZh) return;
    auto formatter = app.get_formatter();
    formatter->label("Usage", "用法");
    formatter->label("OPTIONS", "选项");
    formatter->label("SUBCOMMAND", "命令");
    formatter->label("SUBCOMMANDS", "命令");
    formatter->label("Options", "选项");
    formatter->label("Subcommands", "命令");
    formatter->label("Positionals", "参数");
    formatter->label("REQUIRED", "必填");
  }

  static const CLI::App& Deepest(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : Deepest(*chosen[0]);
  }
  static std::string CommandOf(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    if (chosen.empty()) return {};
    const std::string below = CommandOf(*chosen[0]);
    return chosen[0]->get_name() + (below.empty() ? "" : " " + below);
  }

  // The library's exceptions, in our words where a person meets them often.
  std::string Problem(const CLI::Error& error, const std::string& first_word) const {
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
      std::string what = error.what();
      const size_t colon = what.rfind(": ");
      return Say(language_, Text::kNotExpected,
                 {{"what", colon == std::string::npos ? what : what.substr(colon + 2)}});
    }
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
      const bool command = std::string_view(error.what()).find("subcommand") != std::string_view::npos;
      if (command && app_.get_subcommands().empty() && !first_word.empty())
        return Say(language_, Text::kUnknownCommand, {{"what", first_word}});
      return command ? T(Text::kCommandMissing)
                     : Say(language_, Text::kOptionMissing, {{"what", error.what()}});
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      return Say(language_, Text::kOptionValue, {{"what", error.what()}});
    }
    return Say(language_, Text::kBadOption, {{"what", error.what()}});
  }

  CLI::App* Add(CLI::App& parent, const std::string& name, Text about) {
    CLI::App* command = parent.add_subcommand(name, T(about));
    command->set_help_flag("-h,--help", T(Text::kHelpHelp));
    Labels(*command);
    return command;
  }
  // A command that talks to the API.
  CLI::App* Leaf(CLI::App& parent, const std::string& name, Text about) {
    CLI::App* command = Add(parent, name, about);
    command->add_option("--data", options_.data, T(Text::kHelpData))->type_name("DIR");
    command->add_option("--server", options_.server, T(Text::kHelpServer))->type_name("URL");
    return command;
  }
  void Output(CLI::App* command, bool tables) {
    const std::vector<std::string> formats = tables ? std::vector<std::string>{"wide", "yaml", "json", "name"}
                                                    : std::vector<std::string>{"yaml", "json"};
    command->add_option("-o,--output", options_.output, T(Text::kHelpOutput))->check(CLI::IsMember(formats));
    if (tables) command->add_flag("--no-headers", options_.no_headers, T(Text::kHelpNoHeaders));
  }
  void Project(CLI::App* command) {
    command->add_option("-p,--project", options_.project, T(Text::kHelpProject))->type_name("NAME");
  }
  void Arguments(CLI::App* command, const std::string& name, Text about) {
    command->add_option(name, options_.args, T(about))->type_name("");
  }
  void DryRun(CLI::App* command) { command->add_flag("--dry-run", options_.dry_run, T(Text::kHelpDryRun)); }

  void AddReading() {
    CLI::App* status = Leaf(app_, "status", Text::kAboutStatus);
    Output(status, false);
    CLI::App* get = Leaf(app_, "get", Text::kAboutGet);
    Arguments(get, "KIND NAME", Text::kHelpKindName);
    Output(get, true);
    Project(get);
    get->add_flag("-A,--all-projects", options_.all_projects, T(Text::kHelpAllProjects));
    get->add_option("-l,--selector", options_.selector, T(Text::kHelpSelector))->type_name("a=b,…");
    get->add_flag("-w,--watch", options_.watch, T(Text::kHelpWatch));
    for (const auto& [name, about] :
         {std::pair("describe", Text::kAboutDescribe), std::pair("explain", Text::kAboutExplain)}) {
      CLI::App* command = Leaf(app_, name, about);
      Arguments(command, "NAME", Text::kHelpName);
      Output(command, false);
      Project(command);
    }
    CLI::App* logs = Leaf(app_, "logs", Text::kAboutLogs);
    Arguments(logs, "NAME", Text::kHelpName);
    Project(logs);
    logs->add_flag("-f,--follow", options_.follow, T(Text::kHelpFollow));
    logs->add_flag("--timestamps", options_.timestamps, T(Text::kHelpTimestamps));
    logs->add_option("--tail", options_.tail, T(Text::kHelpTail))->check(CLI::Range(0, 100000));
    logs->add_option("--attempt", options_.attempt, T(Text::kHelpAttempt))->check(CLI::Range(1, 1000));
  }

  void AddWriting() {
    CLI::App* apply = Leaf(app_, "apply", Text::kAboutApply);
    apply->add_option("-f,--filename", options_.file, T(Text::kHelpFile))->type_name("FILE");
    CLI::App* submit = Leaf(app_, "submit", Text::kAboutSubmit);
    Arguments(submit, "DIR", Text::kHelpDir);
    submit->add_option("-f,--filename", options_.file, T(Text::kHelpFile))->type_name("FILE");
    submit->add_option("--name", options_.name, T(Text::kHelpSubmitName))->type_name("NAME");
    for (CLI::App* command : {apply, submit}) {
      Output(command, true);
      Project(command);
      DryRun(command);
    }
    const std::pair<const char*, Text> verbs[] = {
        {"stop", Text::kAboutStop}, {"start", Text::kAboutStart}, {"delete", Text::kAboutDelete}};
    for (const auto& [name, about] : verbs) {
      CLI::App* command = Leaf(app_, name, about);
      Arguments(command, "NAME", Text::kHelpName);
      Output(command, true);
      Project(command);
      DryRun(command);
      if (std::string_view(name) == "delete") command->add_flag("-y,--yes", options_.yes, T(Text::kHelpYes));
    }
    CLI::App* open = Leaf(app_, "open", Text::kAboutOpen);
    Arguments(open, "NAME", Text::kHelpName);
    Output(open, false);
    Project(open);
  }

  void AddAccount() {
    CLI::App* login = Leaf(app_, "login", Text::kAboutLogin);
    login->add_option("-u,--user", options_.user, T(Text::kHelpUser))->type_name("USER");
    login->add_flag("--password-stdin", options_.password_stdin, T(Text::kHelpPasswordStdin));
    Project(login);
    Leaf(app_, "logout", Text::kAboutLogout);
    Output(Leaf(app_, "whoami", Text::kAboutWhoami), false);

    CLI::App* project = Group("project", Text::kAboutProject);
    Output(Leaf(*project, "list", Text::kAboutProjectList), true);
    Output(Named(*project, "describe", Text::kAboutProjectDescribe), false);

    CLI::App* token = Group("token", Text::kAboutToken);
    CLI::App* create = Leaf(*token, "create", Text::kAboutTokenCreate);
    create->add_option("--label", options_.label, T(Text::kHelpLabel));
    create->add_option("--scope", options_.scope, T(Text::kHelpScope))->check(CLI::IsMember({"read"}));
    create->add_option("--expires", options_.expires_seconds, T(Text::kHelpExpires))
        ->check(CLI::Range(60, 31536000));
    Output(create, false);
    Output(Leaf(*token, "list", Text::kAboutTokenList), true);
    Named(*token, "delete", Text::kAboutTokenDelete);

    CLI::App* user = Group("user", Text::kAboutUser);
    CLI::App* user_create = Named(*user, "create", Text::kAboutUserCreate);
    user_create->add_option("--display-name", options_.display_name, T(Text::kHelpDisplayName));
    user_create->add_flag("--admin", options_.admin, T(Text::kHelpAdmin));
    user_create->add_flag("--password-stdin", options_.password_stdin, T(Text::kHelpPasswordStdin));
    Output(user_create, false);
    Output(Leaf(*user, "list", Text::kAboutUserList), true);
    Named(*user, "disable", Text::kAboutUserDisable);
    Named(*user, "enable", Text::kAboutUserEnable);
    Named(*user, "password", Text::kAboutUserPassword)
        ->add_flag("--password-stdin", options_.password_stdin, T(Text::kHelpPasswordStdin));
  }

  CLI::App* Group(const std::string& name, Text about) {
    CLI::App* group = Add(app_, name, about);
    group->require_subcommand(1);
    return group;
  }
  CLI::App* Named(CLI::App& parent, const std::string& name, Text about) {
    CLI::App* command = Leaf(parent, name, about);
    Arguments(command, "NAME", Text::kHelpName);
    return command;
  }

  // Commands of the same program that main() dispatches before this parser sees them: here for `--help` only.
  void AddForeign() {
    Output(Leaf(app_, "version", Text::kAboutVersion), false);
    CLI::App* completion = Add(app_, "completion", Text::kAboutCompletion);
    Arguments(completion, "SHELL", Text::kHelpShell);
    app_.footer(T(Text::kFooter));
  }

  const Language language_;
  CLI::App app_;
  Options options_;
};

void Collect(const CLI::App& app, const std::string& before, std::vector<CommandInfo>& commands) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = before + command->get_name();
    const auto below = command->get_subcommands([](const CLI::App*) { return true; });
    if (!below.empty()) {
      Collect(*command, name + " ", commands);
      continue;
    }
    CommandInfo info{name, command->get_description(), {}};
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& flag : option->get_lnames()) info.flags.push_back("--" + flag);
    }
    commands.push_back(std::move(info));
  }
}

}  // namespace

Parsed ParseArguments(const std::vector<std::string>& args, Language language) {
  return Grammar(language).Parse(args);
}

std::vector<CommandInfo> AllCommands(Language language) {
  Grammar grammar(language);
  std::vector<CommandInfo> commands;
  Collect(grammar.app(), "", commands);
  return commands;
}

}  // namespace cubeplane::cli
