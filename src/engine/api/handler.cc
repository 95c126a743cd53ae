#include "engine/api/handler.h"

#include "engine/api/discovery.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

Answer<WriteOptions> ReadWriteOptions(const ApiRequest& request) {
  const std::string& dry_run = request.Query("dryRun");
  if (!dry_run.empty() && dry_run != "All") {
    return Refuse(
        {422, "Invalid", "dryRun: Unsupported value: \"" + dry_run + "\": supported values: \"All\""});
  }
  return WriteOptions{.dry_run = dry_run == "All"};
}

Answer<void> CheckSubresource(const ApiRequest& request) {
  const Kind& kind = *request.kind;
  const std::string& sub = request.subresource;
  const bool known = sub.empty() || (sub == "status" && kind.has_status) ||
                     (sub == "scale" && kind.has_scale) ||
                     (sub == "log" && kind.kind == "Pod" && request.verb == "get");
  if (!known) return Refuse(UnknownPath());
  return {};
}

}  // namespace

ApiHandler::ApiHandler(std::shared_ptr<Store> store, const Cluster& cluster, Registry& registry,
                       async::Executor& executor, Runtime& runtime,
                       const std::vector<Credential>& credentials)
    : store_(std::move(store)),
      cluster_(cluster),
      registry_(registry),
      executor_(executor),
      runtime_(runtime),
      authenticator_(credentials) {}

async::Task<http::Response> ApiHandler::Handle(http::Request request) {
  http::Response response = Respond(request);
  co_return response;
}

http::Response ApiHandler::Respond(const http::Request& request) {
  const std::string_view path = request.path();
  if (path == "/healthz" || path == "/readyz" || path == "/livez") {
    http::Response response;
    response.status = store_->closed() ? 503 : 200;
    response.headers.Set("Content-Type", "text/plain; charset=utf-8");
    response.body = store_->closed() ? "stopping" : "ok";
    return response;
  }
  const auto who = authenticator_.Authenticate(request);
  if (!who) return ToResponse(who.error());
  const auto read = ReadRequest(request);
  if (!read) return ToResponse(read.error());
  const auto allowed = Authorize(**who, *read, request);
  if (!allowed) return ToResponse(allowed.error());
  auto answer = Dispatch(request, *read);
  return answer ? std::move(*answer) : ToResponse(answer.error());
}

Answer<http::Response> ApiHandler::Dispatch(const http::Request& raw, const ApiRequest& request) {
  if (request.kind == nullptr) {
    std::string_view path = raw.path();
    if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const auto document = Discovery(path);
    if (!document) return Refuse(UnknownPath());
    return JsonResponse(200, *document);
  }
  RETURN_IF_ERROR(CheckSubresource(request));
  if (request.verb == "get") return request.subresource == "log" ? Log(request) : Get(request);
  if (request.verb == "list") return List(request);
  if (request.verb == "watch") return Watch(request);
  if (request.verb == "create") return Create(raw, request);
  if (request.verb == "update") return Update(raw, request);
  if (request.verb == "patch") return Patch(raw, request);
  if (request.verb == "delete") return Delete(raw, request);
  return DeleteCollection(raw, request);
}

Answer<http::Response> ApiHandler::Create(const http::Request& raw, const ApiRequest& request) {
  if (request.kind->namespaced && request.namespace_name.empty()) return Refuse(UnknownPath());
  ASSIGN_OR_RETURN(json::Value body, ReadBody(raw));
  ASSIGN_OR_RETURN(const WriteOptions options, ReadWriteOptions(request));
  ASSIGN_OR_RETURN(const ObjectPtr stored,
                   registry_.Create(*request.kind, request.namespace_name, std::move(body), options));
  return JsonResponse(201, *stored);
}

Answer<http::Response> ApiHandler::Update(const http::Request& raw, const ApiRequest& request) {
  ASSIGN_OR_RETURN(json::Value body, ReadBody(raw));
  ASSIGN_OR_RETURN(const WriteOptions options, ReadWriteOptions(request));
  ASSIGN_OR_RETURN(const ObjectPtr stored,
                   registry_.Update(*request.kind, request.namespace_name, request.name, request.subresource,
                                    std::move(body), options));
  return JsonResponse(200, *stored);
}

Answer<http::Response> ApiHandler::Patch(const http::Request& raw, const ApiRequest& request) {
  std::string_view type = raw.headers.Get("Content-Type");
  type = type.substr(0, type.find(';'));
  ASSIGN_OR_RETURN(const json::Value body, ReadBody(raw));
  ASSIGN_OR_RETURN(const WriteOptions options, ReadWriteOptions(request));
  bool created = false;
  ASSIGN_OR_RETURN(const ObjectPtr stored,
                   registry_.Patch(*request.kind, request.namespace_name, request.name, request.subresource,
                                   std::string(type), body, options, created));
  return JsonResponse(created ? 201 : 200, *stored);
}

Answer<http::Response> ApiHandler::Delete(const http::Request& raw, const ApiRequest& request) {
  json::Value body = json::Object{};
  if (!raw.body.empty()) {
    ASSIGN_OR_RETURN(body, ReadBody(raw));
  }
  ASSIGN_OR_RETURN(const int64_t grace, request.Number("gracePeriodSeconds", -1));
  if (grace >= 0) body.Set("gracePeriodSeconds", grace);
  if (!request.Query("propagationPolicy").empty())
    body.Set("propagationPolicy", request.Query("propagationPolicy"));
  if (request.Query("dryRun") == "All") body.Set("dryRun", json::Array{json::Value("All")});
  ASSIGN_OR_RETURN(const DeleteOptions options, DeleteOptions::Read(body));
  ASSIGN_OR_RETURN(const Registry::Deleted deleted,
                   registry_.Delete(*request.kind, request.namespace_name, request.name, options));
  // Kubernetes answers with the object while it lingers (and for pods always), with a Status once it is gone.
  if (!deleted.gone || request.kind->kind == "Pod") return JsonResponse(200, *deleted.object);
  json::Object details{
      {"name", request.name}, {"kind", request.kind->plural}, {"uid", UidOf(*deleted.object)}};
  if (!request.kind->group.empty()) details.Set("group", request.kind->group);
  return JsonResponse(200, json::Object{{"kind", "Status"},
                                        {"apiVersion", "v1"},
                                        {"metadata", json::Object{}},
                                        {"status", "Success"},
                                        {"details", std::move(details)}});
}

Answer<http::Response> ApiHandler::DeleteCollection(const http::Request& raw, const ApiRequest& request) {
  if (request.kind->kind == "Namespace" || (request.kind->namespaced && request.namespace_name.empty())) {
    return Refuse({405, "MethodNotAllowed", "the server does not allow this method on the requested resource",
                   json::Object{}});
  }
  json::Value body = json::Object{};
  if (!raw.body.empty()) {
    ASSIGN_OR_RETURN(body, ReadBody(raw));
  }
  ASSIGN_OR_RETURN(DeleteOptions options, DeleteOptions::Read(body));
  options.dry_run = options.dry_run || request.Query("dryRun") == "All";
  ASSIGN_OR_RETURN(const Scope scope, ReadScope(request));
  json::Array items;
  for (const ObjectPtr& object : store_->List(scope.kind->Qualified(), scope.namespace_name)) {
    if (!scope.Covers(*object)) continue;
    ASSIGN_OR_RETURN(const Registry::Deleted deleted,
                     registry_.Delete(*scope.kind, NamespaceOf(*object), NameOf(*object), options));
    items.push_back(*deleted.object);
  }
  return JsonResponse(
      200, json::Object{{"kind", scope.kind->kind + "List"},
                        {"apiVersion", scope.kind->ApiVersion()},
                        {"metadata", json::Object{{"resourceVersion", std::to_string(store_->revision())}}},
                        {"items", std::move(items)}});
}

}  // namespace cubeplane::engine
