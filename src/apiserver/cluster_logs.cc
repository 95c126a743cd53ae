#include "apiserver/cluster_logs.h"

#include <algorithm>

#include "apiserver/kept_log.h"
#include "auth/query.h"

namespace cubeplane::apiserver {
namespace {

std::string NamespaceOf(const std::string& project) { return "proj-" + project; }

Error NoLog(const model::Workload& workload, int32_t attempt, bool yet) {
  const std::string number = std::to_string(attempt);
  return Error(
      yet ? Code::kConflict : Code::kNotFound, yet ? "no_log_yet" : "log_not_kept",
      {{"name", workload.metadata.name}},
      "attempt " + number + " of " + workload.metadata.name + (yet ? " has no log yet" : " has no log"));
}

const model::AttemptStatus* FindAttempt(const model::Workload& workload, int32_t number) {
  const auto& attempts = workload.status.attempts;
  const auto found = std::ranges::find(attempts, number, &model::AttemptStatus::number);
  return found == attempts.end() ? nullptr : &*found;
}

// A whole text as a stream of one piece.
class TextBody final : public http::BodyStream {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  async::Task<Result<std::string>> Read() override { co_return std::exchange(text_, std::string()); }
  void Close() override { text_.clear(); }

 private:
  std::string text_;
};

// "bert-ft-9f3a1c" of the pod "bert-ft-9f3a1c-a1": what all objects of a workload are called.
std::string BaseOf(const std::string& pod) { return pod.substr(0, pod.rfind('-')); }

bool IsOf(const json::Value& event, const model::Workload& workload) {
  const std::string& name = event["involvedObject"]["name"].AsString();
  return std::ranges::any_of(workload.status.attempts, [&](const model::AttemptStatus& attempt) {
    return !attempt.pod.empty() && (name == attempt.pod || name == BaseOf(attempt.pod));
  });
}

ClusterEvent ReadEvent(const json::Value& event) {
  ClusterEvent read;
  read.type = event["type"].AsString();
  read.reason = event["reason"].AsString();
  read.message = event["message"].AsString();
  read.object = event["involvedObject"]["kind"].AsString() + "/" + event["involvedObject"]["name"].AsString();
  read.count = std::max<int64_t>(1, event["count"].AsInt());
  read.first_seen = ParseTime(event["firstTimestamp"].AsString());
  read.last_seen = ParseTime(event["lastTimestamp"].AsString());
  if (!read.last_seen) read.last_seen = ParseTime(event["eventTime"].AsString());
  if (!read.last_seen) read.last_seen = ParseTime(event["metadata"]["creationTimestamp"].AsString());
  return read;
}

}  // namespace

async::Task<Result<std::shared_ptr<http::BodyStream>>> ClusterLogs::OpenLive(std::string project,
                                                                             model::AttemptStatus attempt,
                                                                             LogOptions options) {
  kube::Client* const client = client_of_(attempt.cluster);
  if (client == nullptr) {
    co_return Fail(Error(Code::kUnavailable, "cluster_not_seen", {{"cluster", attempt.cluster}},
                         "cluster " + attempt.cluster + " is not known now"));
  }
  kube::LogOptions asked;
  asked.follow = options.follow;
  asked.timestamps = options.timestamps;
  asked.tail_lines = options.tail;
  Result<http::Response> response =
      co_await client->PodLog(NamespaceOf(project), attempt.pod, std::move(asked));
  CO_RETURN_IF_ERROR(response);
  if (response->stream) co_return response->stream;
  co_return std::make_shared<TextBody>(std::move(response->body));
}

async::Task<Result<std::shared_ptr<http::BodyStream>>> ClusterLogs::Open(state::WorkloadPtr workload,
                                                                         int32_t attempt,
                                                                         LogOptions options) {
  using Kept = std::optional<storage::KeptLog>;
  std::function<Result<Kept>(storage::Reader&)> look = [uid = workload->metadata.uid,
                                                        attempt](storage::Reader& reader) {
    return reader.GetKeptLog(uid, attempt);
  };
  Result<Kept> kept = co_await auth::Query<Kept>(store_, std::move(look));
  CO_RETURN_IF_ERROR(kept);
  if (*kept) {
    Result<std::shared_ptr<http::BodyStream>> body = co_await OpenKeptLog(pool_, **kept, options);
    if (!body && body.error().code == Code::kNotFound) co_return Fail(NoLog(*workload, attempt, false));
    co_return body;
  }
  const bool over = model::IsTerminal(workload->status.phase);
  const model::AttemptStatus* status = FindAttempt(*workload, attempt);
  if (status == nullptr || status->pod.empty()) co_return Fail(NoLog(*workload, attempt, !over));
  Result<std::shared_ptr<http::BodyStream>> body =
      co_await OpenLive(workload->metadata.project, *status, options);
  // The pod may not be made yet, or be gone.
  if (!body && body.error().code == Code::kNotFound) co_return Fail(NoLog(*workload, attempt, !over));
  co_return body;
}

async::Task<Result<std::vector<ClusterEvent>>> ClusterLogs::List(state::WorkloadPtr workload, size_t limit) {
  std::vector<ClusterEvent> events;
  if (workload->status.attempts.empty() || workload->status.attempts.back().pod.empty()) co_return events;
  kube::Client* const client = client_of_(workload->status.attempts.back().cluster);
  if (client == nullptr) co_return events;
  Result<kube::ListPage> page =
      co_await client->ListAll(kube::kEvents, NamespaceOf(workload->metadata.project));
  CO_RETURN_IF_ERROR(page);
  for (const json::Value& item : page->items) {
    if (IsOf(item, *workload)) events.push_back(ReadEvent(item));
  }
  std::ranges::sort(events, {},
                    [](const ClusterEvent& event) { return std::pair(event.last_seen, event.first_seen); });
  if (events.size() > limit) events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(limit));
  co_return events;
}

}  // namespace cubeplane::apiserver
