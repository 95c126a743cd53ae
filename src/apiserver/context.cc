#include "apiserver/context.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "json/json.h"

namespace cubeplane::apiserver {
namespace {

std::string Lookup(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &std::pair<std::string, std::string>::first);
  return found == pairs.end() ? std::string() : found->second;
}

std::optional<int64_t> ReadInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "application/json" of "Application/JSON; charset=utf-8".
std::string MediaType(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  std::ranges::transform(type, type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return type;
}

constexpr std::string_view kYamlTypes[] = {"application/yaml", "text/yaml", "application/x-yaml"};

Result<json::Value> ReadYaml(std::string_view body) {
  ASSIGN_OR_RETURN(std::vector<json::Value> documents, json::ParseYaml(body));
  if (documents.size() == 1) return std::move(documents.front());
  return Fail(
      BadField(Code::kBadRequest, "body", std::to_string(documents.size()) + " documents", "one document"));
}

Result<std::optional<int64_t>> ReadVersion(std::string path, std::string_view text) {
  const std::optional<int64_t> version = ReadInt(text);
  if (!version || *version < 0) {
    return Fail(
        BadField(Code::kBadRequest, std::move(path), std::string(text), "a resourceVersion, such as 1042"));
  }
  return version;
}

}  // namespace

std::string Context::Param(std::string_view name) const { return Lookup(params, name); }
std::string Context::Query(std::string_view name) const { return Lookup(query, name); }
bool Context::HasQuery(std::string_view name) const {
  return std::ranges::find(query, name, &std::pair<std::string, std::string>::first) != query.end();
}

const std::string& Context::user() const {
  static const std::string kNobody;
  return principal ? principal->user : kNobody;
}

http::Response JsonResponse(int status, const json::Value& value) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.body = json::Write(value) + "\n";
  return response;
}

http::Response ObjectResponse(int status, const json::Value& object) {
  http::Response response = JsonResponse(status, object);
  const std::string& version = object["metadata"]["resourceVersion"].AsString();
  if (!version.empty()) response.headers.Set("ETag", "\"" + version + "\"");
  return response;
}

Error BadField(Code code, std::string path, std::string found, std::string allowed) {
  if (found.size() > 200) found.resize(200);
  Error error(code, "field_not_allowed", {{"field", path}, {"found", found}, {"allowed", allowed}},
              path + " is `" + found + "`; allowed: " + allowed);
  if (code == Code::kUnsupported) error.reason = "media_type_unsupported";
  if (path.starts_with("query.")) {
    error.reason = "bad_parameter";
    error.params.front() = {"parameter", path.substr(6)};
  }
  error.fields.push_back({std::move(path), std::move(found), std::move(allowed)});
  return error;
}

Error ProjectNotFound(std::string_view project) {
  return Error(Code::kNotFound, "project_not_found", {{"project", std::string(project)}},
               "project " + std::string(project) + " is not there, or not yours");
}

Error WorkloadNotFound(model::WorkloadKind kind, std::string_view project, std::string_view name) {
  return Error(
      Code::kNotFound, "workload_not_found",
      {{"kind", std::string(model::KindName(kind))},
       {"project", std::string(project)},
       {"name", std::string(name)}},
      std::string(model::KindName(kind)) + " " + std::string(name) + " is not in " + std::string(project));
}

Result<bool> BoolQuery(const Context& context, std::string_view name) {
  const std::string text = context.Query(name);
  if (text == "1" || text == "true") return true;
  if (text.empty() || text == "0" || text == "false") return false;
  return Fail(BadField(Code::kBadRequest, "query." + std::string(name), text, "true, 1, false or 0"));
}

Result<std::optional<int64_t>> IntQuery(const Context& context, std::string_view name, int64_t min,
                                        int64_t max) {
  if (!context.HasQuery(name)) return std::nullopt;
  const std::string text = context.Query(name);
  const std::optional<int64_t> value = ReadInt(text);
  if (value && *value >= min && *value <= max) return value;
  return Fail(BadField(Code::kBadRequest, "query." + std::string(name), text,
                       "a number from " + std::to_string(min) + " to " + std::to_string(max)));
}

Result<state::Call> CallOf(const Context& context) {
  state::Call call;
  call.user = context.user();
  call.request_id = context.request_id;
  const std::string dry_run = context.Query("dryRun");
  if (context.HasQuery("dryRun") && dry_run != "All") {
    return Fail(BadField(Code::kBadRequest, "query.dryRun", dry_run, "All"));
  }
  call.dry_run = dry_run == "All";
  call.idempotency_key = std::string(context.request.headers.Get("Idempotency-Key"));
  const bool printable =
      std::ranges::all_of(call.idempotency_key, [](char c) { return c > ' ' && c < 0x7f; });
  if (call.idempotency_key.size() > 128 || !printable) {
    return Fail(BadField(Code::kBadRequest, "Idempotency-Key", call.idempotency_key,
                         "1 to 128 printable ASCII characters"));
  }
  call.method = context.request.method;
  call.path = std::string(context.request.path());
  call.body_sha256 = Sha256Hex(context.request.body);
  return call;
}

async::Task<Result<void>> Audit(Context& context, std::string action, std::string object, json::Value after) {
  state::Call call;
  call.user = context.user();
  call.request_id = context.request_id;
  Result<void> done = co_await context.parts.ledger.Audit(std::move(call), std::move(action),
                                                          std::move(object), std::move(after));
  co_return done;
}

Result<json::Value> ReadBody(const Context& context) {
  const std::string type = MediaType(context.request.headers.Get("Content-Type"));
  if (type == "application/json") return json::Parse(context.request.body);
  const bool yaml = std::ranges::find(kYamlTypes, type) != std::end(kYamlTypes);
  if (yaml && context.route->body == BodyKind::kObject) return ReadYaml(context.request.body);
  return Fail(BadField(Code::kUnsupported, "Content-Type", type,
                       context.route->body == BodyKind::kObject ? "application/json or application/yaml"
                                                                : "application/json"));
}

Result<std::optional<int64_t>> ExpectedVersion(const Context& context, const json::Value& body) {
  std::optional<int64_t> from_header, from_body;
  std::string_view header = context.request.headers.Get("If-Match");
  if (!header.empty()) {
    if (header.size() >= 2 && header.front() == '"' && header.back() == '"')
      header = header.substr(1, header.size() - 2);
    ASSIGN_OR_RETURN(from_header, ReadVersion("If-Match", header));
  }
  const std::string& text = body["metadata"]["resourceVersion"].AsString();
  if (!text.empty()) {
    ASSIGN_OR_RETURN(from_body, ReadVersion("metadata.resourceVersion", text));
  }
  if (from_header && from_body && *from_header != *from_body) {
    return Fail(
        BadField(Code::kBadRequest, "metadata.resourceVersion", text, "the same version as If-Match"));
  }
  return from_header ? from_header : from_body;
}

}  // namespace cubeplane::apiserver
