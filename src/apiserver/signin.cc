// From the platform's session to a session of one workload's origin: by a code, or by a one-time link. The
// contract with the gateway stands in gateway/README.md.
#include <algorithm>

#include "apiserver/handlers.h"
#include "apiserver/pages.h"
#include "apiserver/session_cookie.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kStateDigits = 64;

Error NoSuchRoute(const std::string& host) {
  return Error(Code::kNotFound, "route_not_found", {{"host", host.substr(0, 253)}},
               "there is no workload at this address");
}

// The notebook that a host stands for; null when there is none.
state::WorkloadPtr FindByHost(const Context& context, const std::string& host) {
  const std::string suffix = "." + context.settings.domain;
  const size_t cut = host.find("--");
  if (cut == std::string::npos || !host.ends_with(suffix) || host.size() < cut + 2 + suffix.size())
    return nullptr;
  const std::string name = host.substr(0, cut);
  const std::string project = host.substr(cut + 2, host.size() - cut - 2 - suffix.size());
  const state::WorkloadPtr workload =
      context.parts.ledger.Find({model::WorkloadKind::kNotebook, project, name});
  if (!workload || state::HostOf(name, project, context.settings.domain) != host) return nullptr;
  return workload;
}

// Decision 9: its owner, and nobody else; and only while they have a part in the project.
Result<void> MayOpen(const Context& context, const state::WorkloadPtr& workload, const std::string& user,
                     const std::string& host) {
  if (!workload || workload->metadata.deleted) return Fail(NoSuchRoute(host));
  const state::ProjectPtr project = context.parts.ledger.FindProject(workload->metadata.project);
  if (!project) return Fail(NoSuchRoute(host));
  if (workload->metadata.owner != user) {
    return Fail(Error(Code::kForbidden, "owner_only",
                      {{"name", workload->metadata.name}, {"owner", workload->metadata.owner}},
                      workload->metadata.name + " belongs to another person"));
  }
  return {};
}

// Who asks may know neither name nor owner of what is not theirs (law 8).
Result<void> HideFromStrangers(const Context& context, const state::WorkloadPtr& workload,
                               const std::string& host) {
  if (!workload || StandingIn(context, workload->metadata.project) < auth::Standing::kViewer)
    return Fail(NoSuchRoute(host));
  return {};
}

bool IsState(std::string_view state) {
  return state.size() == kStateDigits &&
         std::ranges::all_of(state, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string StateCookie(const Context& context, std::string_view state) {
  return context.parts.entry.cookie_name() + "-s-" + std::string(state.substr(0, 1));
}

std::string OriginHost(const Context& context) {
  return std::string(context.request.headers.Get("X-Cubeplane-Host"));
}

// Makes the session, tells the gateway, and sends the browser on.
async::Task<Answer> SignIn(Context& context, auth::OriginGrant grant, std::string location) {
  Result<auth::NewSession> session =
      co_await context.parts.auth.OpenSession(grant.user, grant.host, grant.parent_hash);
  CO_RETURN_IF_ERROR(session);
  state::OriginSession told{session->row.id_hash, grant.user, grant.host, session->row.expires};
  Result<void> put = co_await context.parts.entry.PutSession(std::move(told));
  CO_RETURN_IF_ERROR(put);
  context.principal = auth::Principal{grant.user};
  Result<void> audited = co_await Audit(context, "sign-in", "Origin/" + grant.host, {});
  CO_RETURN_IF_ERROR(audited);
  http::Response response = Redirect(std::move(location));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(context.parts.auth.settings().origin_session);
  response.headers.Add("Set-Cookie",
                       SetCookie(context.parts.entry.cookie_name(), session->secret, seconds.count()));
  co_return response;
}

// A sign-in that is no longer good: harmless for who is signed in already.
async::Task<Answer> StartAgain(Context& context, std::string host) {
  const std::optional<std::string> cookie = Cookie(context.request, context.parts.entry.cookie_name());
  if (cookie) {
    Result<auth::Principal> living = co_await context.parts.auth.FromSession(*cookie, host);
    if (living) co_return Redirect("/");
  }
  co_return StartAgainPage(context.language);
}

}  // namespace

async::Task<Answer> AuthorizeOrigin(Context& context) {
  const std::string host = context.Query("host"), state = context.Query("state");
  if (!IsState(state))
    co_return Fail(BadField(Code::kBadRequest, "query.state", state, "64 hexadecimal digits"));
  if (!context.principal || context.principal->via != auth::Principal::Via::kSession) {
    // Whether there is such a workload is not told to somebody without a session.
    co_return Redirect("/login?next=" + http::PercentEncode(std::string(context.request.target)));
  }
  const state::WorkloadPtr workload = FindByHost(context, host);
  const Result<void> known = HideFromStrangers(context, workload, host);
  CO_RETURN_IF_ERROR(known);
  const Result<void> may = MayOpen(context, workload, context.user(), host);
  CO_RETURN_IF_ERROR(may);
  const std::string port = AskedPort(context.request);
  auth::CodeBinding binding{host, port, state, SafeNext(context.Query("next"))};
  Result<std::string> code =
      co_await context.parts.auth.MakeCode(context.user(), context.principal->credential, std::move(binding));
  CO_RETURN_IF_ERROR(code);
  const std::string asked = AskedOrigin(context.request);
  co_return Redirect(asked.substr(0, asked.find("://") + 3) + host + port +
                     "/.cubeplane/callback?code=" + *code + "&state=" + state);
}

async::Task<Answer> Callback(Context& context) {
  const std::string host = OriginHost(context), state = context.Query("state"), code = context.Query("code");
  const std::optional<std::string> cookie =
      IsState(state) ? Cookie(context.request, StateCookie(context, state)) : std::nullopt;
  if (!cookie || !auth::SameSecret(*cookie, state)) {
    Answer answer = co_await StartAgain(context, host);
    co_return answer;
  }
  Result<auth::OriginGrant> grant =
      co_await context.parts.auth.RedeemCode(code, host, AskedPort(context.request), state);
  if (!grant && grant.error().code == Code::kGone) {
    Answer answer = co_await StartAgain(context, host);
    co_return answer;
  }
  CO_RETURN_IF_ERROR(grant);
  const Result<void> may = MayOpen(context, FindByHost(context, host), grant->user, host);
  CO_RETURN_IF_ERROR(may);
  const std::string next = grant->next;
  Answer answer = co_await SignIn(context, std::move(*grant), next);
  if (answer) answer->headers.Add("Set-Cookie", SetCookie(StateCookie(context, state), "", 0));
  co_return answer;
}

async::Task<Answer> OpenPage(Context& context) {
  co_return OpenButtonPage(context.Query("t"), OriginHost(context), context.language);
}

async::Task<Answer> OpenRedeem(Context& context) {
  const Result<void> own = CheckSameOrigin(context.request);
  CO_RETURN_IF_ERROR(own);
  const auto form = http::ParseQuery(context.request.body);
  const std::string host = OriginHost(context);
  std::string link = context.Query("t");
  if (form && !form->empty() && form->front().first == "t") link = form->front().second;
  Result<auth::OriginGrant> grant = co_await context.parts.auth.RedeemLink(link, host);
  CO_RETURN_IF_ERROR(grant);
  const state::WorkloadPtr workload = context.parts.ledger.FindByUid(grant->workload_uid);
  // The name may belong to another workload by now.
  if (workload != FindByHost(context, host)) co_return Fail(NoSuchRoute(host));
  const Result<void> may = MayOpen(context, workload, grant->user, host);
  CO_RETURN_IF_ERROR(may);
  Answer answer = co_await SignIn(context, std::move(*grant), "/lab");
  co_return answer;
}

async::Task<Answer> OriginSignout(Context& context) {
  const Result<void> own = CheckSameOrigin(context.request);
  CO_RETURN_IF_ERROR(own);
  const std::string asked = AskedOrigin(context.request);
  http::Response response =
      Redirect(asked.substr(0, asked.find("://") + 3) + context.parts.entry.platform_host() +
               AskedPort(context.request) + "/login");
  response.headers.Add("Set-Cookie", SetCookie(context.parts.entry.cookie_name(), "", 0));
  const std::optional<std::string> cookie = Cookie(context.request, context.parts.entry.cookie_name());
  if (!cookie) co_return response;
  Result<auth::Principal> person = co_await context.parts.auth.FromSession(*cookie, OriginHost(context));
  if (!person) co_return response;
  Result<std::vector<std::string>> ended = co_await context.parts.auth.EndSessionsOf(person->user);
  CO_RETURN_IF_ERROR(ended);
  Result<void> forgotten = co_await ForgetSessions(context, std::move(*ended));
  CO_RETURN_IF_ERROR(forgotten);
  context.principal = std::move(*person);
  Result<void> audited = co_await Audit(context, "logout", "User/" + context.user(), {});
  CO_RETURN_IF_ERROR(audited);
  co_return response;
}

}  // namespace cubeplane::apiserver
