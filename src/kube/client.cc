#include "kube/client.h"

#include "json/json.h"

namespace cubeplane::kube {
namespace {

constexpr int kMaxListRestarts = 3;
constexpr size_t kMaxWatchLine = 8u << 20;  // bytes of one event

// Adds `name=value` to a target, percent-encoded.
class Target {
 public:
  explicit Target(std::string path) : text_(std::move(path)) {}
  Target& Add(std::string_view name, const std::string& value) {
    if (value.empty()) return *this;
    text_ += (first_ ? "?" : "&") + std::string(name) + "=" + http::PercentEncode(value);
    first_ = false;
    return *this;
  }
  Target& Flag(std::string_view name, bool on) { return on ? Add(name, "true") : *this; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
};

std::string WithOptions(std::string path, const WriteOptions& options) {
  return Target(std::move(path))
      .Add("dryRun", options.dry_run ? "All" : "")
      .Add("fieldManager", options.field_manager)
      .Take();
}

std::string_view ContentType(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return "application/json";
}

std::string ApiVersion(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

// Cuts the body into lines, one event each.
class BodyWatch final : public WatchStream {
 public:
  explicit BodyWatch(std::shared_ptr<http::BodyStream> body) : body_(std::move(body)) {}
  ~BodyWatch() override { body_->Close(); }

  async::Task<Result<std::optional<WatchEvent>>> Next() override {
    for (;;) {
      const size_t end = buffer_.find('\n', scanned_);
      if (end != std::string::npos) {
        const std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        scanned_ = 0;
        if (line.empty()) continue;
        co_return Decode(line);
      }
      scanned_ = buffer_.size();
      if (buffer_.size() > kMaxWatchLine)
        co_return Fail(Code::kTooLarge, "a watch event is larger than 8 MiB");
      Result<std::string> piece = co_await body_->Read();
      CO_RETURN_IF_ERROR(piece);
      if (piece->empty()) {
        if (buffer_.empty()) co_return std::optional<WatchEvent>();
        co_return Fail(Code::kUnavailable, "the watch was cut in the middle of an event");
      }
      buffer_ += *piece;
    }
  }
  void Close() override { body_->Close(); }

 private:
  static Result<std::optional<WatchEvent>> Decode(const std::string& line) {
    ASSIGN_OR_RETURN(json::Value value, json::Parse(line));
    WatchEvent event{.type = value["type"].AsString(), .object = value["object"]};
    if (event.type != "ERROR") return event;
    http::Response status;
    status.status = static_cast<int>(event.object["code"].AsInt(500));
    status.body = json::Write(event.object);
    return Fail(ErrorOf(status));
  }

  std::shared_ptr<http::BodyStream> body_;
  std::string buffer_;
  size_t scanned_ = 0;  // no line end before here
};

async::Task<std::string> ReadAll(std::shared_ptr<http::BodyStream> body, size_t limit) {
  std::string text;
  while (text.size() < limit) {
    Result<std::string> piece = co_await body->Read();
    if (!piece || piece->empty()) break;
    text += *piece;
  }
  body->Close();
  co_return text;
}

}  // namespace

Client::Client(http::Transport& transport, std::function<std::string()> bearer_token)
    : transport_(transport), bearer_token_(std::move(bearer_token)) {}

http::Request Client::Make(std::string method, std::string target, const json::Value* body,
                           std::string content_type) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.Set("Accept", "application/json");
  const std::string token = bearer_token_();
  if (!token.empty()) request.headers.Set("Authorization", "Bearer " + token);
  if (body) {
    request.headers.Set("Content-Type", std::move(content_type));
    request.body = json::Write(*body);
  }
  return request;
}

async::Task<Result<json::Value>> Client::Exchange(http::Request request) {
  http::SendOptions options;
  Result<http::Response> response = co_await transport_.Send(std::move(request), options);
  CO_RETURN_IF_ERROR(response);
  if (response->stream) {
    response->body = co_await ReadAll(response->stream, options.max_body);
  }
  if (response->status < 200 || response->status > 299) co_return Fail(ErrorOf(*response));
  Result<json::Value> value = json::Parse(response->body, {.max_bytes = options.max_body});
  if (!value) co_return Fail(value.error().Wrap("reading the API server's answer"));
  co_return std::move(*value);
}

async::Task<Result<json::Value>> Client::Get(Resource resource, std::string name_space, std::string name) {
  http::Request request = Make("GET", PathOf(resource, name_space, name), nullptr, "");
  Result<json::Value> value = co_await Exchange(std::move(request));
  co_return value;
}

async::Task<Result<ListPage>> Client::List(Resource resource, std::string name_space, ListOptions options) {
  std::string target =
      Target(PathOf(resource, name_space, ""))
          .Add("labelSelector", options.label_selector)
          .Add("fieldSelector", options.field_selector)
          .Add("resourceVersion", options.continue_token.empty() ? options.resource_version : "")
          .Add("limit", options.limit > 0 ? std::to_string(options.limit) : "")
          .Add("continue", options.continue_token)
          .Take();
  http::Request request = Make("GET", std::move(target), nullptr, "");
  Result<json::Value> value = co_await Exchange(std::move(request));
  CO_RETURN_IF_ERROR(value);
  if (!(*value)["items"].IsArray() && !(*value)["items"].IsNull()) {
    co_return Fail(Code::kInternal, "the API server's list of " + resource.plural + " has no items");
  }
  ListPage page;
  page.resource_version = value->At("metadata.resourceVersion").AsString();
  page.continue_token = value->At("metadata.continue").AsString();
  page.items = std::move(value->MakeObject()["items"].MakeArray());
  for (json::Value& item : page.items) {
    // Items of a list do not carry them.
    item.Set("apiVersion", ApiVersion(resource));
    item.Set("kind", resource.kind);
  }
  co_return page;
}

async::Task<Result<ListPage>> Client::ListAll(Resource resource, std::string name_space,
                                              ListOptions options) {
  for (int restarts = 0;; ++restarts) {
    ListPage all;
    options.continue_token.clear();
    Result<ListPage> page;
    do {
      page = co_await List(resource, name_space, options);
      if (!page) break;
      std::move(page->items.begin(), page->items.end(), std::back_inserter(all.items));
      options.continue_token = page->continue_token;
    } while (!options.continue_token.empty());
    if (page) {
      all.resource_version = page->resource_version;
      co_return all;
    }
    if (page.error().code != Code::kGone || restarts == kMaxListRestarts) co_return Fail(page.error());
  }
}

async::Task<Result<json::Value>> Client::Create(Resource resource, std::string name_space, json::Value object,
                                                WriteOptions options) {
  http::Request request =
      Make("POST", WithOptions(PathOf(resource, name_space, ""), options), &object, "application/json");
  Result<json::Value> value = co_await Exchange(std::move(request));
  co_return value;
}

async::Task<Result<json::Value>> Client::Update(Resource resource, std::string name_space, json::Value object,
                                                WriteOptions options) {
  const std::string path = PathOf(resource, name_space, object.At("metadata.name").AsString());
  http::Request request = Make("PUT", WithOptions(path, options), &object, "application/json");
  Result<json::Value> value = co_await Exchange(std::move(request));
  co_return value;
}

async::Task<Result<json::Value>> Client::UpdateStatus(Resource resource, std::string name_space,
                                                      json::Value object, WriteOptions options) {
  const std::string path = PathOf(resource, name_space, object.At("metadata.name").AsString(), "status");
  http::Request request = Make("PUT", WithOptions(path, options), &object, "application/json");
  Result<json::Value> value = co_await Exchange(std::move(request));
  co_return value;
}

async::Task<Result<json::Value>> Client::Patch(Resource resource, std::string name_space, std::string name,
                                               PatchType type, json::Value patch, std::string subresource,
                                               WriteOptions options) {
  std::string target = WithOptions(PathOf(resource, name_space, name, subresource), options);
  http::Request request = Make("PATCH", std::move(target), &patch, std::string(ContentType(type)));
  Result<json::Value> value = co_await Exchange(std::move(request));
  co_return value;
}

async::Task<Result<json::Value>> Client::Delete(Resource resource, std::string name_space, std::string name,
                                                DeleteOptions options) {
  json::Object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.uid.empty()) body.Set("preconditions", json::Object{{"uid", options.uid}});
  if (options.grace_seconds) body.Set("gracePeriodSeconds", *options.grace_seconds);
  if (!options.propagation.empty()) body.Set("propagationPolicy", options.propagation);
  const json::Value value(std::move(body));
  http::Request request = Make("DELETE", PathOf(resource, name_space, name), &value, "application/json");
  Result<json::Value> answer = co_await Exchange(std::move(request));
  co_return answer;
}

async::Task<Result<http::Response>> Client::OpenStream(http::Request request) {
  http::SendOptions options;
  options.stream = true;
  Result<http::Response> response = co_await transport_.Send(std::move(request), options);
  CO_RETURN_IF_ERROR(response);
  if (response->status == 200) co_return std::move(*response);
  if (response->stream) {
    response->body = co_await ReadAll(response->stream, options.max_body);
  }
  co_return Fail(ErrorOf(*response));
}

async::Task<Result<std::unique_ptr<WatchStream>>> Client::Watch(Resource resource, std::string name_space,
                                                                WatchOptions options) {
  std::string target = Target(PathOf(resource, name_space, ""))
                           .Add("watch", "1")
                           .Add("allowWatchBookmarks", "true")
                           .Add("labelSelector", options.label_selector)
                           .Add("fieldSelector", options.field_selector)
                           .Add("resourceVersion", options.resource_version)
                           .Add("timeoutSeconds", std::to_string(options.timeout_seconds))
                           .Take();
  http::Request request = Make("GET", std::move(target), nullptr, "");
  Result<http::Response> response = co_await OpenStream(std::move(request));
  CO_RETURN_IF_ERROR(response);
  if (!response->stream) co_return Fail(Code::kInternal, "the API server answered a watch without a stream");
  std::unique_ptr<WatchStream> stream = std::make_unique<BodyWatch>(response->stream);
  co_return stream;
}

async::Task<Result<http::Response>> Client::PodLog(std::string name_space, std::string pod,
                                                   LogOptions options) {
  std::string target = Target(PathOf(kPods, name_space, pod, "log"))
                           .Flag("follow", options.follow)
                           .Flag("timestamps", options.timestamps)
                           .Flag("previous", options.previous)
                           .Add("container", options.container)
                           .Add("sinceTime", options.since_time)
                           .Add("tailLines", options.tail_lines ? std::to_string(*options.tail_lines) : "")
                           .Add("limitBytes", options.limit_bytes ? std::to_string(*options.limit_bytes) : "")
                           .Take();
  http::Request request = Make("GET", std::move(target), nullptr, "");
  Result<http::Response> response = co_await OpenStream(std::move(request));
  co_return response;
}

}  // namespace cubeplane::kube
