// Health, version, metrics, the contract, the audit log.
#include "apiserver/handlers.h"
#include "apiserver/openapi.h"
#include "auth/query.h"
#include "json/json.h"

namespace cubeplane::apiserver {
namespace {

http::Response Text(int status, std::string body, std::string type = "text/plain; charset=utf-8") {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", std::move(type));
  response.body = std::move(body);
  return response;
}

json::Value AuditObject(const storage::AuditRow& row) {
  json::Object object{{"seq", row.seq},
                      {"at", FormatTime(row.at)},
                      {"principal", row.principal},
                      {"action", row.action},
                      {"object", row.object},
                      {"requestId", row.request_id},
                      {"hash", row.hash},
                      {"previousHash", row.previous_hash}};
  for (const auto& [name, text] : {std::pair("before", &row.before), std::pair("after", &row.after)}) {
    if (text->empty()) continue;
    Result<json::Value> value = json::Parse(*text);
    object.Set(name, value ? std::move(*value) : json::Value(*text));
  }
  return object;
}

}  // namespace

async::Task<Answer> Healthz(Context&) { co_return Text(200, "ok\n"); }

async::Task<Answer> Readyz(Context& context) {
  if (const std::optional<Error> trouble = context.parts.store.Trouble()) {
    co_return Fail(Error(Code::kUnavailable, "store_unavailable", {{"message", trouble->message}},
                         "the store: " + trouble->message));
  }
  const json::Value gateway = context.parts.entry.Health();
  if (!gateway["healthy"].AsBool()) {
    const std::string reason = gateway["reason"].AsString();
    co_return Fail(Error(Code::kUnavailable, "gateway_down", {{"message", reason}},
                         "the gateway is not healthy: " + reason));
  }
  co_return Text(200, "ok\n");
}

async::Task<Answer> Version(Context& context) {
  co_return JsonResponse(
      200, json::Object{
               {"version", context.settings.version}, {"commit", context.settings.commit}, {"api", "v1"}});
}

async::Task<Answer> Metrics(Context& context) {
  co_return Text(200, context.parts.metrics->Text(), "text/plain; version=0.0.4; charset=utf-8");
}

async::Task<Answer> OpenApi(Context&) {
  co_return Text(200, std::string(OpenApiDocument()), "application/yaml");
}

async::Task<Answer> ListAudit(Context& context) {
  const Result<std::optional<int64_t>> after = IntQuery(context, "after", 0, INT64_MAX);
  CO_RETURN_IF_ERROR(after);
  const Result<std::optional<int64_t>> limit = IntQuery(context, "limit", 1, kMaxPage);
  CO_RETURN_IF_ERROR(limit);
  using Rows = std::vector<storage::AuditRow>;
  std::function<Result<Rows>(storage::Reader&)> look =
      [from = after->value_or(0), most = limit->value_or(kMaxPage)](storage::Reader& reader) {
        return reader.Audit(from, static_cast<size_t>(most));
      };
  Result<Rows> rows = co_await auth::Query<Rows>(context.parts.store, std::move(look));
  CO_RETURN_IF_ERROR(rows);
  json::Array items;
  for (const auto& row : *rows) items.push_back(AuditObject(row));
  co_return JsonResponse(200, json::Object{{"items", std::move(items)}});
}

}  // namespace cubeplane::apiserver
