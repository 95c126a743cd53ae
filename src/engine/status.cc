#include "engine/status.h"

#include "engine/api/kinds.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

json::Value Details(const Kind& kind, const std::string& name, bool by_kind = false) {
  json::Object details;
  if (!name.empty()) details.Set("name", name);
  if (!kind.group.empty()) details.Set("group", kind.group);
  // apimachinery's NewInvalid names the Kind, the others the resource.
  details.Set("kind", by_kind ? kind.kind : kind.plural);
  return details;
}

std::string Quoted(const std::string& text) { return json::Write(json::Value(text)); }

}  // namespace

ApiError::ApiError(const Error& error)
    : code(HttpStatus(error.code)), reason(StatusReason(error.code)), message(error.message) {}

FieldError Required(std::string path, std::string_view detail) {
  std::string text = "Required value";
  if (!detail.empty()) text += ": " + std::string(detail);
  return {std::move(path), "FieldValueRequired", std::move(text)};
}

FieldError InvalidValue(std::string path, const json::Value& value, std::string_view detail) {
  return {std::move(path), "FieldValueInvalid",
          "Invalid value: " + json::Write(value) + ": " + std::string(detail)};
}

FieldError Forbidden(std::string path, std::string_view detail) {
  return {std::move(path), "FieldValueForbidden", "Forbidden: " + std::string(detail)};
}

FieldError NotSupported(std::string path, const json::Value& value,
                        const std::vector<std::string_view>& allowed) {
  std::string text = "Unsupported value: " + json::Write(value) + ": supported values: ";
  for (size_t i = 0; i < allowed.size(); ++i) text += (i ? ", " : "") + Quoted(std::string(allowed[i]));
  return {std::move(path), "FieldValueNotSupported", std::move(text)};
}

ApiError NotFoundError(const Kind& kind, const std::string& name) {
  return {404, "NotFound", kind.Qualified() + " " + Quoted(name) + " not found", Details(kind, name)};
}

ApiError AlreadyExistsError(const Kind& kind, const std::string& name) {
  return {409, "AlreadyExists", kind.Qualified() + " " + Quoted(name) + " already exists",
          Details(kind, name)};
}

ApiError ConflictError(const Kind& kind, const std::string& name, std::string_view why) {
  return {
      409, "Conflict",
      "Operation cannot be fulfilled on " + kind.Qualified() + " " + Quoted(name) + ": " + std::string(why),
      Details(kind, name)};
}

ApiError ForbiddenError(const Kind& kind, const std::string& name, const std::string& why) {
  const std::string what = name.empty() ? kind.Qualified() : kind.Qualified() + " " + Quoted(name);
  return {403, "Forbidden", what + " is forbidden: " + why, Details(kind, name)};
}

ApiError InvalidError(const Kind& kind, const std::string& name, const FieldErrors& errors) {
  json::Array causes;
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text += ", ";
    text += error.path + ": " + error.detail;
    causes.push_back(
        json::Object{{"reason", error.reason}, {"message", error.detail}, {"field", error.path}});
  }
  if (errors.size() > 1) text = "[" + text + "]";
  json::Value details = Details(kind, name, true);
  details.Set("causes", std::move(causes));
  const std::string what = kind.group.empty() ? kind.kind : kind.kind + "." + kind.group;
  return {422, "Invalid", what + " " + Quoted(name) + " is invalid: " + text, std::move(details)};
}

ApiError BadRequest(std::string message) { return {400, "BadRequest", std::move(message)}; }
ApiError Unauthorized() { return {401, "Unauthorized", "Unauthorized"}; }
ApiError UnknownPath() {
  return {404, "NotFound", "the server could not find the requested resource", json::Object{}};
}
ApiError Expired(std::string message) { return {410, "Expired", std::move(message)}; }

json::Value ToStatus(const ApiError& error) {
  json::Object status{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", json::Object{}},
                      {"status", "Failure"}, {"message", error.message}, {"reason", error.reason}};
  if (!error.details.IsNull()) status.Set("details", error.details);
  status.Set("code", error.code);
  return status;
}

http::Response JsonResponse(int status, const json::Value& body) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.headers.Set("Cache-Control", "no-cache, private");
  response.body = json::Write(body);
  return response;
}

http::Response ToResponse(const ApiError& error) {
  http::Response response = JsonResponse(error.code, ToStatus(error));
  if (error.code == 401) response.headers.Set("WWW-Authenticate", "Bearer realm=\"cubeplane-engine\"");
  if (error.code == 429 || error.code == 503) response.headers.Set("Retry-After", "1");
  return response;
}

}  // namespace cubeplane::engine
