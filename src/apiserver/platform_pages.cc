// Pages of the platform's own origin: start page, signing in and out.
#include <algorithm>

#include "apiserver/handlers.h"
#include "apiserver/pages.h"
#include "apiserver/session_cookie.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kMaxShown = 200;

std::string Field(const std::vector<std::pair<std::string, std::string>>& form, std::string_view name) {
  const auto found = std::ranges::find(form, name, &std::pair<std::string, std::string>::first);
  return found == form.end() ? std::string() : found->second;
}

std::string OriginFor(const Context& context, const std::string& host) {
  const std::string asked = AskedOrigin(context.request);
  return asked.substr(0, asked.find("://") + 3) + host + AskedPort(context.request);
}

}  // namespace

async::Task<Answer> Home(Context& context) {
  if (!context.principal) co_return LoginFormPage(200, "/", "", context.language);
  std::vector<HomeEntry> notebooks;
  for (const state::WorkloadPtr& workload : context.parts.ledger.Workloads()) {
    const model::Metadata& metadata = workload->metadata;
    if (workload->kind != model::WorkloadKind::kNotebook || metadata.owner != context.user()) continue;
    if (notebooks.size() >= kMaxShown) break;
    HomeEntry entry{metadata.project + "/" + metadata.name,
                    std::string(model::PhaseName(workload->status.phase)), ""};
    if (!workload->status.address.empty()) {
      entry.address =
          OriginFor(context, state::HostOf(metadata.name, metadata.project, context.settings.domain)) +
          "/lab";
    }
    notebooks.push_back(std::move(entry));
  }
  co_return HomePage(context.user(), notebooks, context.language);
}

async::Task<Answer> LoginPage(Context& context) {
  const std::string next = SafeNext(context.Query("next"));
  if (context.principal && context.principal->via == auth::Principal::Via::kSession) co_return Redirect(next);
  co_return LoginFormPage(200, next, "", context.language);
}

async::Task<Answer> LoginForm(Context& context) {
  // Nobody may sign a browser in as somebody else from another page.
  const Result<void> own = CheckSameOrigin(context.request);
  CO_RETURN_IF_ERROR(own);
  const auto form = http::ParseQuery(context.request.body);
  if (!form)
    co_return Fail(BadField(Code::kBadRequest, "body", "a form that cannot be read", "name=value pairs"));
  const std::string next = SafeNext(Field(*form, "next"));
  Result<storage::UserRow> user =
      co_await context.parts.auth.CheckPassword(Field(*form, "user"), Field(*form, "password"));
  if (!user) {
    const Error& error = user.error();
    if (error.code != Code::kUnauthenticated && error.code != Code::kTooMany) co_return Fail(error);
    co_return LoginFormPage(HttpStatus(error.code), next,
                            model::Render(error.reason, error.params, context.language), context.language);
  }
  context.principal = auth::Principal{user->name, user->admin};
  Result<auth::NewSession> session =
      co_await context.parts.auth.OpenSession(user->name, context.parts.entry.platform_host(), "");
  CO_RETURN_IF_ERROR(session);
  Result<void> audited =
      co_await Audit(context, "login", "User/" + user->name, json::Object{{"give", "cookie"}});
  CO_RETURN_IF_ERROR(audited);
  http::Response response = Redirect(next);
  const auto week =
      std::chrono::duration_cast<std::chrono::seconds>(context.parts.auth.settings().session_max);
  response.headers.Add("Set-Cookie",
                       SetCookie(context.parts.entry.cookie_name(), session->secret, week.count()));
  co_return response;
}

async::Task<Answer> LogoutForm(Context& context) {
  http::Response response = Redirect("/login");
  response.headers.Add("Set-Cookie", SetCookie(context.parts.entry.cookie_name(), "", 0));
  if (!context.principal || context.principal->via != auth::Principal::Via::kSession) co_return response;
  Result<std::vector<std::string>> ended = co_await context.parts.auth.EndSessionsOf(context.user());
  CO_RETURN_IF_ERROR(ended);
  Result<void> forgotten = co_await ForgetSessions(context, std::move(*ended));
  CO_RETURN_IF_ERROR(forgotten);
  Result<void> audited = co_await Audit(context, "logout", "User/" + context.user(), {});
  CO_RETURN_IF_ERROR(audited);
  co_return response;
}

}  // namespace cubeplane::apiserver
