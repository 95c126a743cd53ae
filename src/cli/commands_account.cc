// login, logout, whoami, token, user.
#include "cli/context.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using json::Value;

// From stdin: typed twice unseen on a terminal (`twice`), else the first line with --password-stdin.
Outcome<std::string> AskPassword(Context& context, bool twice) {
  std::optional<std::string> password;
  if (context.options.password_stdin) {
    password = ReadLine(false);
  } else if (context.terminal.in_is_tty) {
    context.terminal.err << context.T(Text::kPassword) << std::flush;
    password = ReadLine(true);
    context.terminal.err << '\n';
    if (twice && password) {
      context.terminal.err << context.T(Text::kPasswordAgain) << std::flush;
      const std::optional<std::string> again = ReadLine(true);
      context.terminal.err << '\n';
      if (again != password) return Fail(kUsage, context.T(Text::kPasswordsDiffer));
    }
  } else {
    return Fail(kUsage, context.T(Text::kNeedsPasswordStdin));
  }
  if (!password || password->empty()) return Fail(kUsage, context.T(Text::kNoPassword));
  return *password;
}

Outcome<Answer> Send(Context& context, std::string method, std::string path, const Value& body) {
  CLI_ASSIGN(Api * api, context.GetApi());
  return api->Call({.method = std::move(method), .path = std::move(path), .body = json::Write(body)});
}

Outcome<std::string> OnlyArgument(Context& context) {
  if (context.options.args.size() != 1) return Fail(kUsage, context.T(Text::kNameMissing));
  return context.options.args[0];
}

Outcome<Exit> ChangeUser(Context& context, bool disabled) {
  CLI_ASSIGN(const std::string user, OnlyArgument(context));
  CLI_ASSIGN(const Answer answer,
             Send(context, "PUT", ApiPath({"users", user}), json::Object{{"disabled", disabled}}));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  context.terminal.out << context.T(disabled ? Text::kUserDisabled : Text::kUserEnabled,
                                    {{"user", Printable(user)}})
                       << '\n';
  return kDone;
}

}  // namespace

Outcome<Exit> RunLogin(Context& context) {
  Saved saved = ReadSaved();
  std::string server = context.options.server;
  if (server.empty()) server = saved.server;
  if (server.empty()) return Fail(kUsage, context.T(Text::kServerMissing));
  std::string user = context.options.user;
  if (user.empty() && context.terminal.in_is_tty) {
    context.terminal.err << context.T(Text::kUser) << std::flush;
    user = ReadLine(false).value_or("");
  }
  if (user.empty()) return Fail(kUsage, context.T(Text::kUserMissing));
  CLI_ASSIGN(Target target, TargetOfUrl(server, context.terminal));
  CLI_ASSIGN(const std::string password, AskPassword(context, false));
  context.api_ = std::make_unique<Api>(std::move(target), context.terminal);
  CLI_ASSIGN(
      const Answer answer,
      Send(context, "POST", "/api/v1/login",
           json::Object{
               {"user", user}, {"password", password}, {"give", "token"}, {"label", "cubeplane login"}}));
  const std::string& token = answer.body["token"].AsString();
  if (token.empty()) return Fail(kFailed, context.T(Text::kNoToken));
  CLI_TRY(
      WriteSaved({server, token, context.options.project.empty() ? saved.project : context.options.project},
                 context.terminal));
  context.terminal.err << context.T(Text::kLoggedIn, {{"user", Printable(answer.body["user"].AsString())},
                                                      {"server", server},
                                                      {"path", SavedPath()}})
                       << '\n';
  return kDone;
}

Outcome<Exit> RunLogout(Context& context) {
  Saved saved = ReadSaved();
  if (saved.token.empty()) {
    context.terminal.err << context.T(Text::kNotLoggedIn) << '\n';
    return kDone;
  }
  CLI_ASSIGN(Target target, TargetOfUrl(saved.server, context.terminal));
  target.token = saved.token;
  Api api(std::move(target), context.terminal);
  const Outcome<Answer> ended = api.Call({.method = "POST", .path = "/api/v1/logout"});
  // A token that is no longer known needs no ending.
  if (!ended && ended.error().exit != kNotAllowed) return std::unexpected(ended.error());
  saved.token.clear();
  CLI_TRY(WriteSaved(saved, context.terminal));
  context.terminal.err << context.T(Text::kLoggedOut) << '\n';
  return kDone;
}

Outcome<Exit> RunWhoami(Context& context) {
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.path = "/api/v1/whoami"}));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  std::string projects;
  for (const Value& project : answer.body["projects"].AsArray()) {
    projects +=
        (projects.empty() ? "" : ", ") + project["name"].AsString() + " (" + project["role"].AsString() + ")";
  }
  context.terminal.out << Printable(answer.body["user"].AsString())
                       << (answer.body["admin"].AsBool() ? context.T(Text::kIsAdmin) : "") << '\n';
  PrintField(context.terminal, context.T(Text::kFieldProjects), projects.empty() ? "-" : projects);
  PrintField(
      context.terminal, context.T(Text::kFieldVia),
      context.T(Text::kViaLine, {{"via", answer.body["via"].AsString()}, {"where", api->target().shown}}));
  return kDone;
}

Outcome<Exit> RunTokenCreate(Context& context) {
  Value body = json::Object{};
  if (!context.options.label.empty()) body.Set("label", context.options.label);
  if (!context.options.scope.empty()) body.Set("scope", context.options.scope);
  if (context.options.expires_seconds) body.Set("expiresInSeconds", *context.options.expires_seconds);
  CLI_ASSIGN(const Answer answer, Send(context, "POST", "/api/v1/tokens", body));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  context.terminal.out << Printable(answer.body["token"].AsString()) << '\n';
  context.terminal.err << context.T(Text::kShownOnce, {{"id", Printable(answer.body["id"].AsString())}})
                       << '\n';
  return kDone;
}

Outcome<Exit> RunTokenList(Context& context) {
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.path = "/api/v1/tokens"}));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  Table table({"ID", context.T(Text::kColScope), context.T(Text::kColAge), context.T(Text::kColExpires),
               context.T(Text::kColUsed), context.T(Text::kColLabel)});
  for (const Value& token : answer.body["items"].AsArray()) {
    const std::string& scope = token["scope"].AsString();
    const std::string& expires = token["expiresAt"].AsString();
    table.Add({token["id"].AsString(), scope.empty() ? context.T(Text::kScopeAll) : scope,
               Since(context, token["createdAt"]), expires.empty() ? "-" : expires,
               Since(context, token["lastUsedAt"]), token["label"].AsString()});
  }
  table.Print(context.terminal, !context.options.no_headers);
  return kDone;
}

Outcome<Exit> RunTokenDelete(Context& context) {
  CLI_ASSIGN(const std::string id, OnlyArgument(context));
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_TRY(api->Call({.method = "DELETE", .path = ApiPath({"tokens", id}), .once = true}));
  context.terminal.out << context.T(Text::kTokenGone, {{"id", Printable(id)}}) << '\n';
  return kDone;
}

Outcome<Exit> RunUserCreate(Context& context) {
  CLI_ASSIGN(const std::string user, OnlyArgument(context));
  Value body = json::Object{{"name", user}};
  if (!context.options.display_name.empty()) body.Set("displayName", context.options.display_name);
  if (context.options.admin) body.Set("admin", true);
  if (context.options.password_stdin) {
    CLI_ASSIGN(const std::string password, AskPassword(context, true));
    body.Set("password", password);
  }
  CLI_ASSIGN(const Answer answer, Send(context, "POST", "/api/v1/users", body));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  context.terminal.err << context.T(Text::kUserCreated, {{"user", Printable(user)}}) << '\n';
  if (const std::string& password = answer.body["password"].AsString(); !password.empty()) {
    context.terminal.out << Printable(password) << '\n';
    context.terminal.err << context.T(Text::kPasswordOnce) << '\n';
  }
  return kDone;
}

Outcome<Exit> RunUserList(Context& context) {
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.path = "/api/v1/users"}));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  Table table({context.T(Text::kColName), context.T(Text::kColAdmin), context.T(Text::kColState),
               context.T(Text::kColAge), context.T(Text::kColShown)});
  for (const Value& user : answer.body["items"].AsArray()) {
    const bool disabled = user["disabled"].AsBool();
    table.Add({user["name"].AsString(), context.T(user["admin"].AsBool() ? Text::kYes : Text::kNo),
               context.T(disabled ? Text::kStateDisabled : Text::kStateActive),
               Since(context, user["createdAt"]), user["displayName"].AsString()});
  }
  table.Print(context.terminal, !context.options.no_headers);
  return kDone;
}

Outcome<Exit> RunUserDisable(Context& context) { return ChangeUser(context, true); }

Outcome<Exit> RunUserEnable(Context& context) { return ChangeUser(context, false); }

Outcome<Exit> RunUserPassword(Context& context) {
  CLI_ASSIGN(const std::string user, OnlyArgument(context));
  CLI_ASSIGN(const std::string password, AskPassword(context, true));
  CLI_TRY(Send(context, "POST", ApiPath({"users", user, "password"}), json::Object{{"password", password}}));
  context.terminal.err << context.T(Text::kPasswordChanged, {{"user", Printable(user)}}) << '\n';
  return kDone;
}

}  // namespace cubeplane::cli
