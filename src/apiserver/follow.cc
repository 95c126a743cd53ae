#include "apiserver/follow.h"

#include <algorithm>

#include "async/backoff.h"
#include "async/sync.h"

namespace cubeplane::apiserver {
namespace {

constexpr Duration kFirstWait = std::chrono::milliseconds(100);
constexpr Duration kLongestWait = std::chrono::seconds(2);

// The log may still come: the pod starts, its cluster is silent for a moment.
bool MayCome(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kBadRequest || error.code == Code::kConflict ||
         Retryable(error.code);
}

bool AttemptIsOver(const model::Workload& workload, int32_t attempt) {
  if (model::IsTerminal(workload.status.phase)) return true;
  return !workload.status.attempts.empty() && workload.status.attempts.back().number > attempt;
}

}  // namespace

FollowBody::FollowBody(Parts& parts, Streams& streams, auth::Principal principal, state::WorkloadPtr workload,
                       int32_t attempt, LogOptions options)
    : parts_(parts),
      streams_(streams),
      principal_(std::move(principal)),
      uid_(workload->metadata.uid),
      project_(workload->metadata.project),
      attempt_(attempt),
      options_(options) {}

FollowBody::~FollowBody() { Close(); }

Result<void> FollowBody::Open() {
  const std::weak_ptr<FollowBody> self = weak_from_this();
  ASSIGN_OR_RETURN(stream_, streams_.Add(principal_.user, principal_.credential, [self] {
    if (const auto body = self.lock()) body->Close();
  }));
  return {};
}

void FollowBody::Close() {
  stop_.request_stop();
  if (inner_) inner_->Close();
  if (stream_) streams_.Remove(*stream_);
  stream_.reset();
}

bool FollowBody::MayStillRead() const {
  if (principal_.admin) return true;
  const state::ProjectPtr project = parts_.ledger.FindProject(project_);
  return project && std::ranges::find(project->spec.members, principal_.user, &model::Member::user) !=
                        project->spec.members.end();
}

async::Task<Result<bool>> FollowBody::WaitForLog() {
  async::Backoff backoff(kFirstWait, kLongestWait, parts_.random);
  while (!stop_.stop_requested()) {
    const state::WorkloadPtr workload = parts_.ledger.FindByUid(uid_);
    if (!workload) co_return false;
    // Looked at before the log is asked for: an attempt that was over then will not write any more.
    const bool over = AttemptIsOver(*workload, attempt_);
    Result<std::shared_ptr<http::BodyStream>> log = co_await parts_.logs.Open(workload, attempt_, options_);
    if (log) {
      inner_ = std::move(*log);
      if (stop_.stop_requested()) inner_->Close();
      co_return true;
    }
    if (over) {
      if (log.error().code == Code::kNotFound) co_return false;
      co_return Fail(log.error());
    }
    if (!MayCome(log.error())) co_return Fail(log.error());
    const std::stop_token token = stop_.get_token();
    [[maybe_unused]] const bool waited = co_await async::Sleep(parts_.executor, backoff.Next(), token);
  }
  co_return false;
}

async::Task<Result<std::string>> FollowBody::Read() {
  const std::shared_ptr<FollowBody> alive = shared_from_this();
  if (!inner_) {
    Result<bool> there = co_await WaitForLog();
    CO_RETURN_IF_ERROR(there);
    if (!*there) co_return std::string();
  }
  Result<std::string> piece = co_await inner_->Read();
  if (!MayStillRead()) {
    Close();
    co_return std::string();
  }
  if (!piece || piece->empty()) Close();
  co_return piece;
}

}  // namespace cubeplane::apiserver
