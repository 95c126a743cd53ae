// Logs and events from a Kubernetes API, and kept logs from this machine's disk.
#pragma once

#include <functional>
#include <string>

#include "apiserver/logs.h"
#include "async/pool.h"
#include "kube/client.h"
#include "storage/store.h"

namespace cubeplane::apiserver {

// Threading: on the control thread; files are read on the pool. Lifetime: store and pool outlive it.
class ClusterLogs final : public LogSource, public EventSource {
 public:
  // `client_of`: the client of a cluster by name; null when there is no such cluster now.
  ClusterLogs(std::function<kube::Client*(const std::string& cluster)> client_of, storage::Store& store,
              async::BlockingPool& pool)
      : client_of_(std::move(client_of)), store_(store), pool_(pool) {}

  async::Task<Result<std::shared_ptr<http::BodyStream>>> Open(state::WorkloadPtr workload, int32_t attempt,
                                                              LogOptions options) override;
  async::Task<Result<std::vector<ClusterEvent>>> List(state::WorkloadPtr workload, size_t limit) override;

 private:
  async::Task<Result<std::shared_ptr<http::BodyStream>>> OpenLive(std::string project,
                                                                  model::AttemptStatus attempt,
                                                                  LogOptions options);

  std::function<kube::Client*(const std::string&)> client_of_;
  storage::Store& store_;
  async::BlockingPool& pool_;
};

}  // namespace cubeplane::apiserver
