// Users.
#include "apiserver/fields.h"
#include "apiserver/handlers.h"
#include "apiserver/session_cookie.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kMaxDisplayName = 100;

json::Object UserObject(const storage::UserRow& row) {
  return {{"name", row.name},
          {"displayName", row.display_name},
          {"admin", row.admin},
          {"disabled", row.disabled},
          {"createdAt", FormatTime(row.created)}};
}

}  // namespace

async::Task<Answer> ListUsers(Context& context) {
  Result<std::vector<storage::UserRow>> rows = co_await context.parts.auth.Users();
  CO_RETURN_IF_ERROR(rows);
  json::Array items;
  for (const auto& row : *rows) items.push_back(UserObject(row));
  co_return JsonResponse(200, json::Object{{"items", std::move(items)}});
}

async::Task<Answer> CreateUser(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  BodyFields fields(*body);
  const std::optional<std::string> name = fields.String("name", true, 200);
  const std::optional<std::string> display_name = fields.String("displayName", false, kMaxDisplayName);
  const bool admin = fields.Bool("admin").value_or(false);
  const std::optional<std::string> password = fields.String("password", false, auth::kMaxPassword);
  const Result<void> read = fields.Done();
  CO_RETURN_IF_ERROR(read);
  if (password && password->empty())
    co_return Fail(BadField(Code::kInvalid, "password", "nothing", "at least 10 bytes, or no such field"));
  Result<std::string> made =
      co_await context.parts.auth.CreateUser(*name, display_name.value_or(""), admin, password.value_or(""));
  CO_RETURN_IF_ERROR(made);
  Result<storage::UserRow> row = co_await context.parts.auth.GetUser(*name);
  CO_RETURN_IF_ERROR(row);
  json::Object object = UserObject(*row);
  Result<void> audited = co_await Audit(context, "create", "User/" + *name, object);
  CO_RETURN_IF_ERROR(audited);
  if (!made->empty()) object.Set("password", *made);
  co_return JsonResponse(201, std::move(object));
}

async::Task<Answer> GetUser(Context& context) {
  Result<storage::UserRow> row = co_await context.parts.auth.GetUser(context.Param("user"));
  CO_RETURN_IF_ERROR(row);
  co_return JsonResponse(200, UserObject(*row));
}

async::Task<Answer> UpdateUser(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  BodyFields fields(*body);
  auth::Auth::UserChange change;
  change.display_name = fields.String("displayName", false, kMaxDisplayName);
  change.admin = fields.Bool("admin");
  change.disabled = fields.Bool("disabled");
  const Result<void> read = fields.Done();
  CO_RETURN_IF_ERROR(read);
  const std::string name = context.Param("user");
  const bool loses = (change.admin && !*change.admin) || (change.disabled && *change.disabled);
  Result<auth::Auth::ChangedUser> changed = co_await context.parts.auth.UpdateUser(name, change);
  CO_RETURN_IF_ERROR(changed);
  Result<void> forgotten = co_await ForgetSessions(context, std::move(changed->ended_sessions));
  CO_RETURN_IF_ERROR(forgotten);
  if (loses) context.streams.CloseUser(name);
  json::Object object = UserObject(changed->row);
  Result<void> audited = co_await Audit(context, "update", "User/" + name, object);
  CO_RETURN_IF_ERROR(audited);
  co_return JsonResponse(200, std::move(object));
}

async::Task<Answer> SetPassword(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  BodyFields fields(*body);
  const std::string name = context.Param("user");
  const bool own = name == context.user();
  // The operator on the machine's socket is known by uid and may have lost the password.
  const bool must_know = own && context.principal->via != auth::Principal::Via::kSocket;
  const std::optional<std::string> password = fields.String("password", true, auth::kMaxPassword);
  std::optional<std::string> current = fields.String("current", must_know, auth::kMaxPassword);
  const Result<void> read = fields.Done();
  CO_RETURN_IF_ERROR(read);
  if (!must_know) current.reset();
  Result<std::vector<std::string>> ended = co_await context.parts.auth.SetPassword(name, *password, current);
  CO_RETURN_IF_ERROR(ended);
  Result<void> forgotten = co_await ForgetSessions(context, std::move(*ended));
  CO_RETURN_IF_ERROR(forgotten);
  Result<void> audited = co_await Audit(context, "set-password", "User/" + name, {});
  CO_RETURN_IF_ERROR(audited);
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace cubeplane::apiserver
