// One cluster as the controllers see it: a client for writing, informers for looking.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/group.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"

namespace cubeplane::controller {

// Threading: on the control thread. Lifetime: outlives the controllers that use it; Start before them, Stop
// after them.
class Cluster {
 public:
  // `late_create`: how long after it was sent a create may still take effect without our hearing of it. Zero
  // for the engine in this process: it dies with us.
  Cluster(std::string name, kube::Client& client, async::Executor& executor, Random& random,
          Duration late_create);

  void Start();
  async::Task<void> Stop();
  // All lists have been read once, and the identity is known.
  bool Synced() const;

  const std::string& name() const { return name_; }
  // UID of the kube-system namespace; empty until known.
  const std::string& identity() const { return identity_; }
  Duration late_create() const { return late_create_; }
  kube::Client& client() { return client_; }

  kube::Informer& namespaces() { return namespaces_; }
  kube::Informer& nodes() { return nodes_; }
  kube::Informer& pods() { return pods_; }
  kube::Informer& stateful_sets() { return stateful_sets_; }
  kube::Informer& quotas() { return quotas_; }
  kube::Informer& limit_ranges() { return limit_ranges_; }
  kube::Informer& claims() { return claims_; }
  kube::Informer& service_accounts() { return service_accounts_; }

 private:
  async::Task<void> FindIdentity();
  std::vector<kube::Informer*> All();

  const std::string name_;
  kube::Client& client_;
  async::Executor& executor_;
  Random& random_;
  const Duration late_create_;
  std::string identity_;
  kube::Informer namespaces_, nodes_, pods_, stateful_sets_, quotas_, limit_ranges_, claims_,
      service_accounts_;
  async::TaskGroup group_;
};

}  // namespace cubeplane::controller
