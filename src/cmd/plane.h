// The control plane: every part, in the order in which they stand on each other.
#pragma once

#include <memory>
#include <string>

#include "apiserver/api_server.h"
#include "apiserver/cluster_logs.h"
#include "async/loop.h"
#include "async/pool.h"
#include "auth/auth.h"
#include "cmd/options.h"
#include "cmd/places.h"
#include "controller/admission/controller.h"
#include "controller/cluster.h"
#include "controller/door_key.h"
#include "controller/project/controller.h"
#include "controller/route/controller.h"
#include "controller/workload/controller.h"
#include "engine/engine.h"
#include "engine/node/client.h"
#include "gateway/gateway.h"
#include "http/server.h"
#include "http/transport.h"
#include "kube/client.h"
#include "metrics/metrics.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::cmd {

// Threading: made, started and stopped on the loop's thread.
class Plane {
 public:
  Plane(const UpOptions& options, const Places& places, const Clock& clock, Random& random,
        async::Loop& loop);
  ~Plane();

  // To the point where a person can work. The error is the one sentence that `up` ends with.
  async::Task<Result<void>> Start();
  // Orderly: no new requests, controllers finish their step, the store finishes its writes. Pods and HAProxy
  // go on.
  async::Task<void> Stop();

  const std::string& url() const { return url_; }
  // The admin's password when it was made just now; empty otherwise. Shown once.
  const std::string& new_password() const { return new_password_; }

 private:
  async::Task<Result<void>> StartStore();
  async::Task<Result<void>> StartEngine();
  async::Task<Result<void>> StartGateway();
  Result<void> StartServers();
  void StartControllers();
  double Count(model::Phase phase) const;
  Result<void> ServeKubernetes();
  Result<void> WriteEndpoint() const;
  // Numbers of the last start, from endpoint.json; 0 when there was none.
  uint16_t LastPort(const std::string& which) const;

  const UpOptions options_;
  const Places places_;
  const Clock& clock_;
  Random& random_;
  async::Loop& loop_;
  async::BlockingPool pool_;
  metrics::Registry metrics_;

  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<state::Ledger> ledger_;
  std::unique_ptr<auth::Auth> auth_;

  std::unique_ptr<engine::Runtime> runtime_;
  std::unique_ptr<engine::Engine> engine_;
  std::string engine_token_, admin_token_;
  std::unique_ptr<http::InProcessTransport> to_engine_;
  std::unique_ptr<kube::Client> kube_;
  std::unique_ptr<controller::Cluster> cluster_;

  std::unique_ptr<gateway::Gateway> gateway_;
  std::unique_ptr<controller::DoorKey> door_key_;
  std::unique_ptr<controller::project::Controller> projects_;
  std::unique_ptr<controller::admission::Controller> admission_;
  std::unique_ptr<controller::workload::Controller> workloads_;
  std::unique_ptr<controller::route::Controller> routes_;

  std::unique_ptr<apiserver::ClusterLogs> logs_;
  std::unique_ptr<apiserver::ApiServer> api_;
  std::unique_ptr<http::Server> api_http_, kubernetes_http_;
  uint16_t port_ = 0, kubernetes_port_ = 0;
  std::string url_, new_password_;
};

}  // namespace cubeplane::cmd
