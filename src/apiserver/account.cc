// Signing in and out over the API, who one is, API tokens.
#include <algorithm>

#include "apiserver/fields.h"
#include "apiserver/handlers.h"
#include "apiserver/session_cookie.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kMaxLabel = 100;

json::Object TokenObject(const storage::TokenRow& row) {
  json::Object object{
      {"id", row.id}, {"label", row.label}, {"scope", row.scope}, {"createdAt", FormatTime(row.created)}};
  if (row.expires) object.Set("expiresAt", FormatTime(*row.expires));
  if (row.last_used) object.Set("lastUsedAt", FormatTime(*row.last_used));
  return object;
}

const char* ViaName(auth::Principal::Via via) {
  switch (via) {
    case auth::Principal::Via::kSocket:
      return "socket";
    case auth::Principal::Via::kToken:
      return "token";
    case auth::Principal::Via::kSession:
      return "session";
  }
  return "";
}

int64_t Seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

async::Task<Answer> GiveToken(Context& context, storage::UserRow user, std::string label) {
  Result<auth::NewToken> token = co_await context.parts.auth.CreateToken(
      user.name, std::move(label), "", context.parts.auth.settings().login_token);
  CO_RETURN_IF_ERROR(token);
  co_return JsonResponse(200, json::Object{{"user", user.name},
                                           {"admin", user.admin},
                                           {"token", token->secret},
                                           {"id", token->row.id},
                                           {"expiresAt", FormatTime(*token->row.expires)}});
}

async::Task<Answer> GiveCookie(Context& context, storage::UserRow user) {
  const Result<void> own = CheckSameOrigin(context.request);
  CO_RETURN_IF_ERROR(own);
  Result<auth::NewSession> session =
      co_await context.parts.auth.OpenSession(user.name, context.parts.entry.platform_host(), "");
  CO_RETURN_IF_ERROR(session);
  http::Response response = JsonResponse(
      200, json::Object{
               {"user", user.name}, {"admin", user.admin}, {"expiresAt", FormatTime(session->row.expires)}});
  // The cookie may outlive the session's present end: the server decides.
  response.headers.Add("Set-Cookie", SetCookie(context.parts.entry.cookie_name(), session->secret,
                                               Seconds(context.parts.auth.settings().session_max)));
  co_return response;
}

}  // namespace

async::Task<Answer> LogIn(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  BodyFields fields(*body);
  const std::optional<std::string> user = fields.String("user", true, 200);
  const std::optional<std::string> password = fields.String("password", true, auth::kMaxPassword);
  const std::string give = fields.Word("give", {"cookie", "token"}, "token");
  const std::optional<std::string> label = fields.String("label", false, kMaxLabel);
  const Result<void> read = fields.Done();
  CO_RETURN_IF_ERROR(read);
  Result<storage::UserRow> row = co_await context.parts.auth.CheckPassword(*user, *password);
  CO_RETURN_IF_ERROR(row);
  context.principal = auth::Principal{row->name, row->admin};
  Result<void> audited = co_await Audit(context, "login", "User/" + row->name, json::Object{{"give", give}});
  CO_RETURN_IF_ERROR(audited);
  if (give == "cookie") {
    Answer answer = co_await GiveCookie(context, *row);
    co_return answer;
  }
  Answer answer = co_await GiveToken(context, *row, label.value_or("login"));
  co_return answer;
}

async::Task<Answer> LogOut(Context& context) {
  const auth::Principal& principal = *context.principal;
  http::Response response;
  response.status = 204;
  if (principal.via == auth::Principal::Via::kToken) {
    Result<void> gone = co_await context.parts.auth.DeleteToken(principal.user, principal.credential);
    CO_RETURN_IF_ERROR(gone);
    context.streams.CloseCredential(principal.credential);
  } else if (principal.via == auth::Principal::Via::kSession) {
    // Signing out ends all of the person's sessions, on every origin.
    Result<std::vector<std::string>> ended = co_await context.parts.auth.EndSessionsOf(principal.user);
    CO_RETURN_IF_ERROR(ended);
    Result<void> forgotten = co_await ForgetSessions(context, std::move(*ended));
    CO_RETURN_IF_ERROR(forgotten);
    response.headers.Add("Set-Cookie", SetCookie(context.parts.entry.cookie_name(), "", 0));
  }
  Result<void> audited = co_await Audit(context, "logout", "User/" + principal.user, {});
  CO_RETURN_IF_ERROR(audited);
  co_return response;
}

async::Task<Answer> WhoAmI(Context& context) {
  const auth::Principal& principal = *context.principal;
  Result<storage::UserRow> row = co_await context.parts.auth.GetUser(principal.user);
  json::Array projects;
  for (const state::ProjectPtr& project : context.parts.ledger.Projects()) {
    const auto& members = project->spec.members;
    const auto member = std::ranges::find(members, principal.user, &model::Member::user);
    if (member == members.end()) continue;
    projects.push_back(
        json::Object{{"name", project->metadata.name}, {"role", model::RoleName(member->role)}});
  }
  co_return JsonResponse(200, json::Object{{"user", principal.user},
                                           {"displayName", row ? row->display_name : std::string()},
                                           {"admin", principal.admin},
                                           {"via", ViaName(principal.via)},
                                           {"readOnly", principal.read_only},
                                           {"projects", std::move(projects)}});
}

async::Task<Answer> ListTokens(Context& context) {
  Result<std::vector<storage::TokenRow>> rows = co_await context.parts.auth.TokensOf(context.user());
  CO_RETURN_IF_ERROR(rows);
  json::Array items;
  for (const auto& row : *rows) items.push_back(TokenObject(row));
  co_return JsonResponse(200, json::Object{{"items", std::move(items)}});
}

async::Task<Answer> CreateToken(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  BodyFields fields(*body);
  const std::optional<std::string> label = fields.String("label", false, kMaxLabel);
  const std::string scope = fields.Word("scope", {"", "read"}, "");
  const std::optional<int64_t> seconds = fields.Int("expiresInSeconds", 60, 365 * 24 * 3600);
  const Result<void> read = fields.Done();
  CO_RETURN_IF_ERROR(read);
  std::optional<Duration> lifetime;
  if (seconds) lifetime = std::chrono::seconds(*seconds);
  Result<auth::NewToken> token =
      co_await context.parts.auth.CreateToken(context.user(), label.value_or(""), scope, lifetime);
  CO_RETURN_IF_ERROR(token);
  Result<void> audited = co_await Audit(context, "create", "Token/" + token->row.id, TokenObject(token->row));
  CO_RETURN_IF_ERROR(audited);
  json::Object object = TokenObject(token->row);
  object.Set("token", token->secret);
  co_return JsonResponse(201, std::move(object));
}

async::Task<Answer> DeleteToken(Context& context) {
  const std::string id = context.Param("id");
  Result<void> gone = co_await context.parts.auth.DeleteToken(context.user(), id);
  CO_RETURN_IF_ERROR(gone);
  context.streams.CloseCredential(id);
  Result<void> audited = co_await Audit(context, "delete", "Token/" + id, {});
  CO_RETURN_IF_ERROR(audited);
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace cubeplane::apiserver
