// The handler's reading verbs: get, list with pages, watch.
#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "engine/api/handler.h"
#include "engine/api/log_stream.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr Duration kDefaultWatch = std::chrono::minutes(30);
constexpr int64_t kMaxWatchSeconds = 24 * 3600;

struct Continue {
  int64_t revision = 0;
  std::string namespace_name, name;  // the last object given
};

std::string WriteContinue(const Continue& token) {
  return Base64(
      json::Write(json::Object{{"rv", token.revision}, {"ns", token.namespace_name}, {"name", token.name}}));
}

Answer<Continue> ReadContinue(const std::string& text) {
  const auto bytes = FromBase64(text);
  const auto value = bytes ? json::Parse(*bytes) : Result<json::Value>(json::Value());
  if (!value || !(*value)["rv"].IsInt())
    return Refuse(BadRequest("continue key is not valid: found \"" + text.substr(0, 64) + "\""));
  return Continue{(*value)["rv"].AsInt(), (*value)["ns"].AsString(), (*value)["name"].AsString()};
}

ApiError TooLargeRevision(int64_t asked, int64_t present) {
  const std::string message =
      "Too large resource version: " + std::to_string(asked) + ", current: " + std::to_string(present);
  json::Object cause{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}};
  return {504, "Timeout", message,
          json::Object{{"causes", json::Array{std::move(cause)}}, {"retryAfterSeconds", 1}}};
}

}  // namespace

Answer<Scope> ApiHandler::ReadScope(const ApiRequest& request) const {
  Scope scope;
  scope.kind = request.kind;
  scope.namespace_name = request.namespace_name;
  ASSIGN_OR_RETURN(scope.labels, LabelSelector::Parse(request.Query("labelSelector")));
  ASSIGN_OR_RETURN(scope.fields, FieldSelector::Parse(*request.kind, request.Query("fieldSelector")));
  return scope;
}

Answer<http::Response> ApiHandler::Get(const ApiRequest& request) {
  ASSIGN_OR_RETURN(const ObjectPtr object,
                   registry_.Get(*request.kind, request.namespace_name, request.name));
  return JsonResponse(200, request.subresource == "scale" ? ScaleOf(*object) : *object);
}

Answer<http::Response> ApiHandler::List(const ApiRequest& request) {
  ASSIGN_OR_RETURN(const Scope scope, ReadScope(request));
  ASSIGN_OR_RETURN(const int64_t limit, request.Number("limit", 0));
  ASSIGN_OR_RETURN(const int64_t asked, request.Number("resourceVersion", 0));
  Continue from{store_->revision(), "", ""};
  const bool exact = request.Query("resourceVersionMatch") == "Exact" && asked != 0;
  if (asked > store_->revision()) return Refuse(TooLargeRevision(asked, store_->revision()));
  if (exact) from.revision = asked;
  const bool resumes = !request.Query("continue").empty();
  if (resumes) {
    ASSIGN_OR_RETURN(from, ReadContinue(request.Query("continue")));
  }
  std::vector<ObjectPtr> objects;
  if (from.revision == store_->revision()) {
    objects = store_->List(scope.kind->Qualified(), scope.namespace_name);
  } else {
    auto past = store_->ListAt(scope.kind->Qualified(), scope.namespace_name, from.revision);
    if (!past)
      return Refuse(
          Expired("The provided continue parameter is too old to display a consistent list result. You must "
                  "start a new list without the continue parameter."));
    objects = std::move(*past);
  }
  const size_t page = limit > 0 ? static_cast<size_t>(std::min(limit, kMaxPage)) : objects.size();
  std::string items;
  size_t given = 0, left = 0;
  Continue last = from;
  for (const ObjectPtr& object : objects) {
    const std::pair place(NamespaceOf(*object), NameOf(*object));
    if (resumes && place <= std::pair(from.namespace_name, from.name)) continue;
    if (!scope.Covers(*object)) continue;
    if (given == page) {
      ++left;
      continue;
    }
    items += (given++ ? "," : "") + json::Write(*object);
    std::tie(last.namespace_name, last.name) = place;
  }
  json::Object metadata{{"resourceVersion", std::to_string(from.revision)}};
  if (left > 0) {
    metadata.Set("continue", WriteContinue(last));
    if (request.Query("labelSelector").empty() && request.Query("fieldSelector").empty())
      metadata.Set("remainingItemCount", left);
  }
  http::Response response = JsonResponse(200, json::Value());
  response.body = "{\"kind\":\"" + scope.kind->kind + "List\",\"apiVersion\":\"" + scope.kind->ApiVersion() +
                  "\",\"metadata\":" + json::Write(std::move(metadata)) + ",\"items\":[" + items + "]}";
  return response;
}

Answer<http::Response> ApiHandler::Watch(const ApiRequest& request) {
  ASSIGN_OR_RETURN(Scope scope, ReadScope(request));
  WatchOptions options;
  ASSIGN_OR_RETURN(options.revision, request.Number("resourceVersion", 0));
  ASSIGN_OR_RETURN(const int64_t seconds, request.Number("timeoutSeconds", 0));
  options.timeout = seconds > 0 ? std::chrono::seconds(std::min(seconds, kMaxWatchSeconds)) : kDefaultWatch;
  options.bookmarks = request.Flag("allowWatchBookmarks");
  if (request.Flag("sendInitialEvents")) {
    return Refuse({422, "Invalid",
                   "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents "
                   "is forbidden for watch unless the WatchList feature gate is enabled"});
  }
  if (options.revision > store_->revision())
    return Refuse(TooLargeRevision(options.revision, store_->revision()));
  if (options.revision != 0 && options.revision < store_->oldest_known()) {
    return Refuse(Expired("too old resource version: " + request.Query("resourceVersion") + " (" +
                          std::to_string(store_->oldest_known()) + ")"));
  }
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  if (watches_.size() >= kMaxWatches) {
    return Refuse({429, "TooManyRequests",
                   "the engine serves at most " + std::to_string(kMaxWatches) + " watches at once"});
  }
  http::Response response;
  response.headers.Set("Content-Type", "application/json;stream=watch");
  response.headers.Set("Cache-Control", "no-cache, private");
  response.stream = MakeWatch(store_, executor_, std::move(scope), options);
  watches_.push_back(response.stream);
  return response;
}

}  // namespace cubeplane::engine
