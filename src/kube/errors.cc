#include "json/json.h"
#include "kube/client.h"

namespace cubeplane::kube {

Error ErrorOf(const http::Response& response) {
  const Result<json::Value> status = json::Parse(response.body);
  if (!status || (*status)["kind"].AsString() != "Status") {
    Error error(CodeFromHttp(response.status, ""), "HTTP " + std::to_string(response.status));
    // What is not a Status comes from something in between (a proxy); a short piece of it helps to find out
    // what.
    if (!response.body.empty()) error.message += ": " + response.body.substr(0, 200);
    return error;
  }
  const std::string& reason = (*status)["reason"].AsString();
  Error error(CodeFromHttp(response.status, reason), (*status)["message"].AsString());
  if (error.code == Code::kForbidden && error.message.find("exceeded quota") != std::string::npos) {
    error.code = Code::kQuotaExceeded;
  }
  for (const json::Value& cause : status->At("details.causes").AsArray()) {
    error.fields.push_back(
        {.path = cause["field"].AsString(), .found = "", .allowed = cause["message"].AsString()});
  }
  return error;
}

}  // namespace cubeplane::kube
