#include "http/status.h"

#include "json/json.h"

namespace cubeplane::http {

Response ErrorResponse(const Error& error) { return ErrorResponse(HttpStatus(error.code), error); }

Response ErrorResponse(int status, const Error& error) {
  json::Object details;
  json::Array causes;
  for (const FieldProblem& problem : error.fields) {
    std::string message = problem.allowed;
    if (!problem.found.empty()) message = "found " + problem.found + "; allowed: " + problem.allowed;
    causes.emplace_back(json::Object{{"reason", "FieldValueInvalid"},
                                     {"message", std::move(message)},
                                     {"field", problem.path},
                                     {"found", problem.found},
                                     {"allowed", problem.allowed}});
  }
  if (!causes.empty()) details.Set("causes", std::move(causes));
  if (!error.reason.empty()) details.Set("code", error.reason);
  if (!error.params.empty()) {
    json::Object params;
    for (const auto& [key, value] : error.params) params.Set(key, value);
    details.Set("params", std::move(params));
  }
  json::Object body{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", json::Object()},
                    {"status", "Failure"}, {"message", error.message}, {"reason", StatusReason(error.code)},
                    {"code", status}};
  if (!details.empty()) body.Set("details", std::move(details));
  Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.body = json::Write(json::Value(std::move(body)));
  return response;
}

}  // namespace cubeplane::http
