// Kubernetes' `Status`, the shape of every error that a server of this project gives.
#pragma once

#include "base/error.h"
#include "http/message.h"

namespace cubeplane::http {

// A JSON `Status` (kind, status, message, reason, code, details with causes, our reason code and its
// parameters) under the error's HTTP status.
Response ErrorResponse(const Error& error);
// The same with another HTTP status than the error's own (431, 408, …).
Response ErrorResponse(int status, const Error& error);

}  // namespace cubeplane::http
