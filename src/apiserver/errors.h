// Errors as the API gives them.
#pragma once

#include "base/error.h"
#include "http/message.h"
#include "json/value.h"
#include "model/objects.h"
#include "model/reasons.h"

namespace cubeplane::apiserver {

// A Kubernetes-shaped `Status`: the sentence from api/reasons.yaml in the language asked for, code and
// parameters, the fields at fault, and what to do next.
json::Value StatusObject(const Error& error, model::Language language, std::string_view request_id);
http::Response ErrorResponse(const Error& error, model::Language language, std::string_view request_id);
// {"code", "params", "message", "next"}
json::Value ReasonObject(const model::Reason& reason, model::Language language);

}  // namespace cubeplane::apiserver
