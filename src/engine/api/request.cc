#include "engine/api/request.h"

#include <charconv>
#include <vector>

#include "json/json.h"

namespace cubeplane::engine {
namespace {

Answer<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t slash = path.find('/');
    auto part = http::PercentDecode(path.substr(0, slash));
    if (!part || part->find('/') != std::string::npos || *part == ".." || *part == ".")
      return Refuse(UnknownPath());
    parts.push_back(std::move(*part));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash);
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

// Reads [namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]] from `at` on.
Answer<void> ReadObjectPath(const std::vector<std::string>& parts, size_t at, std::string_view group,
                            std::string_view version, ApiRequest& out) {
  const size_t left = parts.size() - at;
  // /namespaces/NS/status is the Namespace's own subresource.
  const bool own = left == 3 && (parts[at + 2] == "status" || parts[at + 2] == "finalize");
  if (parts[at] == "namespaces" && left >= 3 && !own) {
    out.namespace_name = parts[at + 1];
    at += 2;
  }
  if (parts.size() - at > 3) return Refuse(UnknownPath());
  out.kind = FindKind(group, version, parts[at]);
  if (out.kind == nullptr) return Refuse(UnknownPath());
  if (!out.kind->namespaced && !out.namespace_name.empty()) return Refuse(UnknownPath());
  if (at + 1 < parts.size()) out.name = parts[at + 1];
  if (at + 2 < parts.size()) out.subresource = parts[at + 2];
  if (!out.name.empty() && out.kind->namespaced && out.namespace_name.empty()) return Refuse(UnknownPath());
  return {};
}

Answer<std::string> VerbOf(const std::string& method, const ApiRequest& request) {
  const bool one = !request.name.empty();
  if (method == "GET" || method == "HEAD") {
    if (one) return "get";
    return request.Flag("watch") ? "watch" : "list";
  }
  if (method == "POST" && !one) return "create";
  if (method == "PUT" && one) return "update";
  if (method == "PATCH" && one) return "patch";
  if (method == "DELETE" && request.subresource.empty()) return one ? "delete" : "deletecollection";
  return Refuse({405, "MethodNotAllowed", "the server does not allow this method on the requested resource",
                 json::Object{}});
}

}  // namespace

const std::string& ApiRequest::Query(const std::string& key) const {
  static const std::string none;
  const auto found = query.find(key);
  return found == query.end() ? none : found->second;
}

bool ApiRequest::Flag(const std::string& key) const {
  const std::string& text = Query(key);
  return text == "true" || text == "1";
}

Answer<int64_t> ApiRequest::Number(const std::string& key, int64_t fallback) const {
  const std::string& text = Query(key);
  if (text.empty()) return fallback;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Refuse(BadRequest("query parameter " + key + ": found \"" + text +
                             "\", allowed is a whole number of at least 0"));
  }
  return value;
}

Answer<ApiRequest> ReadRequest(const http::Request& request) {
  ApiRequest out;
  auto query = http::ParseQuery(request.query());
  if (!query) return Refuse(BadRequest("the query is not well-formed percent-encoding"));
  for (auto& [key, value] : *query) out.query.emplace(std::move(key), std::move(value));
  ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(request.path()));
  if (parts.size() >= 3 && parts[0] == "api") {
    RETURN_IF_ERROR(ReadObjectPath(parts, 2, "", parts[1], out));
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    RETURN_IF_ERROR(ReadObjectPath(parts, 3, parts[1], parts[2], out));
  } else {
    return out;
  }
  ASSIGN_OR_RETURN(out.verb, VerbOf(request.method, out));
  return out;
}

Answer<json::Value> ReadBody(const http::Request& request, bool yaml) {
  std::string_view type = request.headers.Get("Content-Type");
  type = type.substr(0, type.find(';'));
  const bool is_yaml = type == "application/yaml" || type == "application/apply-patch+yaml";
  if (is_yaml && yaml) {
    ASSIGN_OR_RETURN(auto documents, json::ParseYaml(request.body));
    if (documents.size() != 1) return Refuse(BadRequest("the body must be one YAML document"));
    return std::move(documents[0]);
  }
  if (type == "application/vnd.kubernetes.protobuf") {
    return Refuse(
        {415, "UnsupportedMediaType",
         "the body of the request was in an unknown format - accepted media types include: application/json, "
         "application/yaml"});
  }
  ASSIGN_OR_RETURN(json::Value body, json::Parse(request.body));
  return body;
}

}  // namespace cubeplane::engine
