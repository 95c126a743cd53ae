#include "apiserver/errors.h"

#include <algorithm>

#include "json/json.h"

namespace cubeplane::apiserver {
namespace {

json::Value ParamsObject(const Params& params) {
  json::Object object;
  for (const auto& [name, value] : params) object.Set(name, value);
  return object;
}

std::string Sentence(const Error& error, model::Language language) {
  if (!error.reason.empty() && model::HasReason(error.reason))
    return model::Render(error.reason, error.params, language);
  return error.message;
}

json::Value Causes(const Error& error, model::Language language) {
  json::Array causes;
  for (const auto& field : error.fields) {
    const Params params{{"field", field.path}, {"found", field.found}, {"allowed", field.allowed}};
    causes.push_back(json::Object{{"field", field.path},
                                  {"found", field.found},
                                  {"allowed", field.allowed},
                                  {"message", model::Render("field_not_allowed", params, language)}});
  }
  return causes;
}

// Seconds after which the same request may pass.
int64_t RetryAfter(const Error& error) {
  const auto seconds =
      std::ranges::find(error.params, "seconds", &std::pair<std::string, std::string>::first);
  if (seconds == error.params.end()) return 1;
  return std::clamp<int64_t>(std::atoll(seconds->second.c_str()), 1, 3600);
}

}  // namespace

json::Value ReasonObject(const model::Reason& reason, model::Language language) {
  return json::Object{{"code", reason.code},
                      {"params", ParamsObject(reason.params)},
                      {"message", model::Render(reason.code, reason.params, language)},
                      {"next", model::RenderNext(reason.code, reason.params, language)}};
}

json::Value StatusObject(const Error& error, model::Language language, std::string_view request_id) {
  json::Object details;
  if (!error.reason.empty()) {
    details.Set("code", error.reason);
    details.Set("params", ParamsObject(error.params));
    const std::string next = model::RenderNext(error.reason, error.params, language);
    if (!next.empty()) details.Set("next", next);
  }
  if (!error.fields.empty()) details.Set("causes", Causes(error, language));
  if (Retryable(error.code)) details.Set("retryAfterSeconds", RetryAfter(error));
  details.Set("requestId", request_id);
  return json::Object{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object()},
                      {"status", "Failure"},
                      {"message", Sentence(error, language)},
                      {"reason", StatusReason(error.code)},
                      {"details", std::move(details)},
                      {"code", HttpStatus(error.code)}};
}

http::Response ErrorResponse(const Error& error, model::Language language, std::string_view request_id) {
  http::Response response;
  response.status = HttpStatus(error.code);
  response.body = json::Write(StatusObject(error, language, request_id)) + "\n";
  response.headers.Set("Content-Type", "application/json");
  if (error.code == Code::kUnauthenticated)
    response.headers.Set("WWW-Authenticate", "Bearer realm=\"cubeplane\"");
  if (error.code == Code::kTooMany || error.code == Code::kUnavailable) {
    response.headers.Set("Retry-After", std::to_string(RetryAfter(error)));
  }
  return response;
}

}  // namespace cubeplane::apiserver
