// A followed log: waits until the attempt has a log, then gives it until the attempt has ended.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "apiserver/context.h"
#include "http/message.h"

namespace cubeplane::apiserver {

// Threading: on the control thread. Lifetime: ledger, logs and streams outlive it.
class FollowBody final : public http::BodyStream, public std::enable_shared_from_this<FollowBody> {
 public:
  FollowBody(Parts& parts, Streams& streams, auth::Principal principal, state::WorkloadPtr workload,
             int32_t attempt, LogOptions options);
  ~FollowBody() override;
  // Registers with the streams' bounds; kTooMany.
  Result<void> Open();

  async::Task<Result<std::string>> Read() override;
  void Close() override;

 private:
  // Whoever leaves the project hears no more of it.
  bool MayStillRead() const;
  // True once there is something to read from; false when there will never be.
  async::Task<Result<bool>> WaitForLog();

  Parts& parts_;
  Streams& streams_;
  const auth::Principal principal_;
  const std::string uid_, project_;
  const int32_t attempt_;
  const LogOptions options_;
  std::optional<size_t> stream_;
  std::shared_ptr<http::BodyStream> inner_;
  std::stop_source stop_;
};

}  // namespace cubeplane::apiserver
