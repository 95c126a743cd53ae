// What a request to the engine asks for, read from its method, path and query.
#pragma once

#include <map>
#include <string>

#include "engine/api/kinds.h"
#include "engine/status.h"
#include "http/message.h"

namespace cubeplane::engine {

struct ApiRequest {
  std::string verb;  // get list watch create update patch delete deletecollection; "" for what is no object
  const Kind* kind = nullptr;
  std::string namespace_name, name, subresource;
  std::map<std::string, std::string> query;

  const std::string& Query(const std::string& key) const;
  // "true" or "1". Anything else is false.
  bool Flag(const std::string& key) const;
  // Absent: fallback. Errors: 400 for what is no number of at least 0.
  Answer<int64_t> Number(const std::string& key, int64_t fallback) const;
};

// Errors: 400 for a malformed query, 404 for a path that nobody serves, 405 for a method that does not fit.
Answer<ApiRequest> ReadRequest(const http::Request& request);

// A request's body as an object. Errors: 400 (malformed), 415 (a format that is not JSON or, where `yaml`,
// YAML).
Answer<json::Value> ReadBody(const http::Request& request, bool yaml = true);

}  // namespace cubeplane::engine
