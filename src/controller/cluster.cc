#include "controller/cluster.h"

#include <algorithm>

#include "async/backoff.h"

namespace cubeplane::controller {

Cluster::Cluster(std::string name, kube::Client& client, async::Executor& executor, Random& random,
                 Duration late_create)
    : name_(std::move(name)),
      client_(client),
      executor_(executor),
      random_(random),
      late_create_(late_create),
      namespaces_(client, kube::kNamespaces, "", executor, random),
      nodes_(client, kube::kNodes, "", executor, random),
      pods_(client, kube::kPods, "", executor, random),
      stateful_sets_(client, kube::kStatefulSets, "", executor, random),
      quotas_(client, kube::kResourceQuotas, "", executor, random),
      limit_ranges_(client, kube::kLimitRanges, "", executor, random),
      claims_(client, kube::kPersistentVolumeClaims, "", executor, random),
      service_accounts_(client, kube::kServiceAccounts, "", executor, random),
      group_(executor) {}

std::vector<kube::Informer*> Cluster::All() {
  return {&namespaces_, &nodes_,        &pods_,   &stateful_sets_,
          &quotas_,     &limit_ranges_, &claims_, &service_accounts_};
}

void Cluster::Start() {
  for (kube::Informer* informer : All()) informer->Start();
  group_.Spawn(FindIdentity());
}

async::Task<void> Cluster::Stop() {
  co_await group_.Join();
  for (kube::Informer* informer : All()) co_await informer->Stop();
}

bool Cluster::Synced() const {
  if (identity_.empty()) return false;
  const auto all = const_cast<Cluster*>(this)->All();
  return std::ranges::all_of(all, [](const kube::Informer* informer) { return informer->Synced(); });
}

async::Task<void> Cluster::FindIdentity() {
  async::Backoff backoff(std::chrono::milliseconds(100), std::chrono::seconds(10), random_);
  for (;;) {
    const Result<json::Value> found = co_await client_.Get(kube::kNamespaces, "", "kube-system");
    if (found) {
      identity_ = found->At("metadata.uid").AsString();
      if (!identity_.empty()) co_return;
    }
    const bool go_on = co_await async::Sleep(executor_, backoff.Next(), group_.token());
    if (!go_on) co_return;
  }
}

}  // namespace cubeplane::controller
