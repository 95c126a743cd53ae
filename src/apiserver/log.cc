// The log of an attempt: now, or as it comes.
#include "apiserver/follow.h"
#include "apiserver/handlers.h"

namespace cubeplane::apiserver {
namespace {

constexpr int64_t kMaxTail = 100'000;

Result<int32_t> AttemptOf(const Context& context, const model::Workload& workload) {
  ASSIGN_OR_RETURN(std::optional<int64_t> asked, IntQuery(context, "attempt", 1, 1000));
  const auto& attempts = workload.status.attempts;
  if (!asked) return attempts.empty() ? 1 : attempts.back().number;
  const int32_t last = attempts.empty() ? 1 : attempts.back().number;
  if (*asked <= last) return static_cast<int32_t>(*asked);
  return Fail(Error(
      Code::kNotFound, "no_such_attempt",
      {{"name", workload.metadata.name}, {"attempt", std::to_string(*asked)}, {"last", std::to_string(last)}},
      "there is no attempt " + std::to_string(*asked)));
}

}  // namespace

async::Task<Answer> GetLog(Context& context) {
  const model::WorkloadKind kind = *context.route->kind;
  const std::string project = context.Param("project"), name = context.Param("name");
  const state::WorkloadPtr workload = context.parts.ledger.Find({kind, project, name});
  if (!workload) co_return Fail(WorkloadNotFound(kind, project, name));
  const Result<int32_t> attempt = AttemptOf(context, *workload);
  CO_RETURN_IF_ERROR(attempt);
  const Result<bool> follow = BoolQuery(context, "follow");
  CO_RETURN_IF_ERROR(follow);
  const Result<bool> timestamps = BoolQuery(context, "timestamps");
  CO_RETURN_IF_ERROR(timestamps);
  const Result<std::optional<int64_t>> tail = IntQuery(context, "tail", 0, kMaxTail);
  CO_RETURN_IF_ERROR(tail);
  const LogOptions options{*follow, *tail, *timestamps};

  http::Response response;
  response.headers.Set("Content-Type", "text/plain; charset=utf-8");
  response.headers.Set("X-Cubeplane-Attempt", std::to_string(*attempt));
  if (*follow) {
    auto body = std::make_shared<FollowBody>(context.parts, context.streams, *context.principal, workload,
                                             *attempt, options);
    const Result<void> opened = body->Open();
    CO_RETURN_IF_ERROR(opened);
    response.stream = std::move(body);
    co_return response;
  }
  Result<std::shared_ptr<http::BodyStream>> stream =
      co_await context.parts.logs.Open(workload, *attempt, options);
  CO_RETURN_IF_ERROR(stream);
  response.stream = std::move(*stream);
  co_return response;
}

}  // namespace cubeplane::apiserver
