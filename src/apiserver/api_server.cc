#include "apiserver/api_server.h"

#include <algorithm>

#include "apiserver/errors.h"
#include "apiserver/pages.h"
#include "apiserver/session_cookie.h"
#include "json/json.h"
#include "log/log.h"

namespace cubeplane::apiserver {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool IsSafe(std::string_view method) { return method == "GET" || method == "HEAD"; }

// A request of a workload's origin, as the gateway marks it; the mark of anybody else counts for nothing.
bool OnOrigin(const http::Request& request, const Settings& settings) {
  return request.peer.listener == settings.platform_listener &&
         request.headers.Get("X-Cubeplane-Signin") == "1";
}

bool Match(const Route& route, const std::vector<std::string>& segments,
           std::vector<std::pair<std::string, std::string>>& params) {
  if (route.segments.size() != segments.size()) return false;
  params.clear();
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::string_view part = route.segments[i];
    if (part.starts_with('{')) {
      if (segments[i].empty()) return false;
      params.emplace_back(part.substr(1, part.size() - 2), segments[i]);
    } else if (part != segments[i]) {
      return false;
    }
  }
  return true;
}

Result<std::vector<std::string>> DecodedSegments(std::string_view path) {
  std::vector<std::string> segments;
  if (!path.starts_with('/'))
    return Fail(BadField(Code::kBadRequest, "path", std::string(path), "a path that begins with /"));
  for (std::string_view part : SplitPath(path)) {
    std::optional<std::string> decoded = http::PercentDecode(part);
    if (!decoded)
      return Fail(BadField(Code::kBadRequest, "path", std::string(path), "percent-encoded UTF-8"));
    segments.push_back(std::move(*decoded));
  }
  return segments;
}

Result<void> ReadQuery(Context& context) {
  const std::string_view text = context.request.query();
  if (text.size() > kMaxQuery)
    return Fail(
        BadField(Code::kBadRequest, "query", std::to_string(text.size()) + " bytes", "at most 8 KiB"));
  auto query = http::ParseQuery(text);
  if (!query)
    return Fail(BadField(Code::kBadRequest, "query", std::string(text), "name=value pairs, percent-encoded"));
  const auto& known = context.route->query;
  for (const auto& [name, value] : *query) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string allowed;
    for (std::string_view one : known) allowed += (allowed.empty() ? "" : ", ") + std::string(one);
    return Fail(
        BadField(Code::kBadRequest, "query." + name, value, allowed.empty() ? "no parameters" : allowed));
  }
  context.query = std::move(*query);
  return {};
}

Result<void> CheckType(const http::Request& request, std::initializer_list<std::string_view> allowed) {
  std::string_view type = request.headers.Get("Content-Type");
  type = type.substr(0, type.find(';'));
  if (std::ranges::find(allowed, type) != allowed.end()) return {};
  std::string list;
  for (std::string_view one : allowed) list += (list.empty() ? "" : ", ") + std::string(one);
  return Fail(BadField(Code::kUnsupported, "Content-Type", std::string(type), list));
}

Result<void> CheckBody(const Context& context) {
  const std::string& body = context.request.body;
  const BodyKind kind = context.route->body;
  const size_t most = kind == BodyKind::kArchive ? kMaxArchive : kMaxBody;
  if (body.size() > most) {
    return Fail(
        Error(Code::kTooLarge, "body_too_large", {{"limit", std::to_string(most)}}, "the body is too large"));
  }
  if (kind == BodyKind::kForm) return CheckType(context.request, {"application/x-www-form-urlencoded"});
  if (kind == BodyKind::kArchive) {
    return CheckType(context.request, {"application/gzip", "application/x-gzip", "application/octet-stream"});
  }
  // Clients that always send an object are forgiven.
  if (kind == BodyKind::kNone && !body.empty() && body != "{}") {
    return Fail(BadField(Code::kBadRequest, "body", std::to_string(body.size()) + " bytes", "no body"));
  }
  return {};
}

Target TargetOf(const Context& context) {
  return {context.Param("project"), context.Param("user"), context.route->kind, context.Param("name")};
}

}  // namespace

ApiServer::ApiServer(Parts parts, Settings settings)
    : parts_(parts),
      settings_(std::move(settings)),
      rate_(settings_.rate),
      streams_(settings_.streams),
      started_(parts.clock.MonoNow()) {
  if (parts_.metrics == nullptr) parts_.metrics = &own_metrics_;
}

Result<void> ApiServer::FindRoute(Context& context) const {
  ASSIGN_OR_RETURN(std::vector<std::string> segments, DecodedSegments(context.request.path()));
  const bool on_origin = OnOrigin(context.request, settings_);
  const std::string_view method =
      context.request.method == "HEAD" ? "GET" : std::string_view(context.request.method);
  std::string allow;
  for (const Route& route : Routes()) {
    std::vector<std::pair<std::string, std::string>> params;
    if (route.on_origin != on_origin || !Match(route, segments, params)) continue;
    if (route.method == method) {
      context.route = &route;
      context.params = std::move(params);
      return {};
    }
    allow += (allow.empty() ? "" : ", ") + std::string(route.method);
  }
  const std::string path(context.request.path().substr(0, 200));
  if (allow.empty())
    return Fail(Error(Code::kNotFound, "path_not_found", {{"path", path}}, "there is nothing at " + path));
  return Fail(Error(Code::kMethodNotAllowed, "method_not_allowed",
                    {{"method", context.request.method}, {"allowed", allow}},
                    context.request.method + " is not allowed here: " + allow));
}

async::Task<Result<void>> ApiServer::AuthenticateBearer(Context& context, std::string_view header) {
  if (!header.starts_with(kBearer)) {
    co_return Fail(Error(Code::kUnauthenticated, "bad_token", {}, "only Bearer tokens are taken"));
  }
  Result<auth::Principal> principal =
      co_await parts_.auth.FromToken(std::string(header.substr(kBearer.size())));
  CO_RETURN_IF_ERROR(principal);
  context.principal = std::move(*principal);
  co_return Result<void>();
}

async::Task<Result<void>> ApiServer::Authenticate(Context& context) {
  if (context.route->on_origin) co_return Result<void>();
  const http::Request& request = context.request;
  const std::string_view header = request.headers.Get("Authorization");
  if (!header.empty()) {
    Result<void> done = co_await AuthenticateBearer(context, header);
    co_return done;
  }
  const http::Peer& peer = request.peer;
  if (peer.listener == settings_.api_listener && peer.unix_uid &&
      (*peer.unix_uid == 0 || peer.unix_uid == settings_.operator_uid)) {
    context.principal =
        auth::Principal{settings_.operator_user, true, false, auth::Principal::Via::kSocket, "socket"};
    co_return Result<void>();
  }
  if (peer.listener != settings_.platform_listener) co_return Result<void>();
  const std::optional<std::string> cookie = Cookie(request, parts_.entry.cookie_name());
  if (!cookie) co_return Result<void>();
  Result<auth::Principal> principal = co_await parts_.auth.FromSession(*cookie, parts_.entry.platform_host());
  // A session that has ended is none; what needs one will say so.
  if (!principal && principal.error().code == Code::kUnauthenticated) co_return Result<void>();
  CO_RETURN_IF_ERROR(principal);
  if (!IsSafe(request.method)) {
    const Result<void> own = CheckSameOrigin(request);
    CO_RETURN_IF_ERROR(own);
  }
  context.principal = std::move(*principal);
  co_return Result<void>();
}

async::Task<Answer> ApiServer::Dispatch(Context& context) {
  const Result<void> found = FindRoute(context);
  CO_RETURN_IF_ERROR(found);
  Result<void> authenticated = co_await Authenticate(context);
  CO_RETURN_IF_ERROR(authenticated);
  const Result<void> counted = rate_.Take(context.principal ? context.user() : "", parts_.clock.MonoNow());
  CO_RETURN_IF_ERROR(counted);
  const Result<void> allowed = Authorize(context, context.route->operation, TargetOf(context));
  CO_RETURN_IF_ERROR(allowed);
  const Result<void> query = ReadQuery(context);
  CO_RETURN_IF_ERROR(query);
  const Result<void> body = CheckBody(context);
  CO_RETURN_IF_ERROR(body);
  Answer answer = co_await context.route->handler(context);
  co_return answer;
}

void ApiServer::Count(const Context& context, const http::Response& response, Mono began) {
  const std::string operation(context.route != nullptr ? context.route->operation : "none");
  const std::chrono::duration<double> took = parts_.clock.MonoNow() - began;
  parts_.metrics->Count("cubeplane_api_requests_total", "Requests answered.",
                        {{"operation", operation}, {"code", std::to_string(response.status)}});
  parts_.metrics->ObserveSeconds("cubeplane_api_request_seconds", "Time to the answer's head.",
                                 {{"operation", operation}}, took.count());
}

async::Task<http::Response> ApiServer::Handle(http::Request request) {
  const Mono began = parts_.clock.MonoNow();
  Context context{parts_, settings_, streams_, started_, std::move(request), parts_.random.Hex(8)};
  context.language = model::ParseLanguage(context.request.headers.Get("Accept-Language"));
  Answer answer = co_await Dispatch(context);
  http::Response response;
  if (answer) {
    response = std::move(*answer);
  } else {
    const Error& error = answer.error();
    const bool page = context.route != nullptr && context.route->page;
    response = page ? ErrorPage(error, context.language)
                    : ErrorResponse(error, context.language, context.request_id);
    if (error.code == Code::kMethodNotAllowed && !error.params.empty())
      response.headers.Set("Allow", error.params.back().second);
    if (HttpStatus(error.code) >= 500) {
      // Without the query: it may hold a link or a code.
      log::Error("a request failed", {{"id", context.request_id},
                                      {"method", context.request.method},
                                      {"path", std::string(context.request.path())},
                                      {"error", error.message}});
    }
  }
  response.headers.Set("X-Request-Id", context.request_id);
  response.headers.Set("X-Content-Type-Options", "nosniff");
  if (!response.headers.Has("Cache-Control")) response.headers.Set("Cache-Control", "no-store");
  Count(context, response, began);
  co_return response;
}

}  // namespace cubeplane::apiserver
