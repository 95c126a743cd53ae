// Errors of the engine's API: Kubernetes' Status as a value, and the sentences a kube-apiserver says.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "json/value.h"

namespace cubeplane::engine {

struct Kind;

struct ApiError {
  int code = 500;
  std::string reason = "InternalError";
  std::string message;
  json::Value details;  // an object, or null

  ApiError() = default;
  ApiError(int code, std::string reason, std::string message, json::Value details = {})
      : code(code), reason(std::move(reason)), message(std::move(message)), details(std::move(details)) {}
  // From below (the store, the runtime): same code and sentence.
  ApiError(const Error& error);  // NOLINT: implicit, so that RETURN_IF_ERROR passes errors up
};

template <class T = void>
using Answer = std::expected<T, ApiError>;

inline std::unexpected<ApiError> Refuse(ApiError error) {
  return std::unexpected<ApiError>(std::move(error));
}

// One field at fault, as field.Error of apimachinery.
struct FieldError {
  std::string path;    // "spec.containers[0].image"
  std::string reason;  // "FieldValueRequired"
  std::string detail;  // "Required value: …"
};
using FieldErrors = std::vector<FieldError>;

FieldError Required(std::string path, std::string_view detail = "");
FieldError InvalidValue(std::string path, const json::Value& value, std::string_view detail);
FieldError Forbidden(std::string path, std::string_view detail);
FieldError NotSupported(std::string path, const json::Value& value,
                        const std::vector<std::string_view>& allowed);

ApiError NotFoundError(const Kind& kind, const std::string& name);
ApiError AlreadyExistsError(const Kind& kind, const std::string& name);
ApiError ConflictError(const Kind& kind, const std::string& name, std::string_view why);
ApiError ForbiddenError(const Kind& kind, const std::string& name, const std::string& why);
ApiError InvalidError(const Kind& kind, const std::string& name, const FieldErrors& errors);
ApiError BadRequest(std::string message);
ApiError Unauthorized();
// A path that nobody serves.
ApiError UnknownPath();
// A list or watch from a revision that is no longer known.
ApiError Expired(std::string message);

json::Value ToStatus(const ApiError& error);
http::Response ToResponse(const ApiError& error);
http::Response JsonResponse(int status, const json::Value& body);

}  // namespace cubeplane::engine
