// The kubelet of the one node: makes the runtime run the pods that are bound here, tells their state, and
// removes a pod only when the runtime has proved its processes gone (law 2).
//
// Threading: the control thread only. Its state is a cache of the runtime's; after a restart everything is
// found again by Runtime::List, and what the runtime runs without a pod here is ended.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/controller.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/runtime.h"

namespace cubeplane::engine {

inline constexpr Duration kRuntimeRetryMin = std::chrono::seconds(1);
inline constexpr Duration kRuntimeRetryMax = std::chrono::seconds(30);

class Kubelet final : public Controller {
 public:
  Kubelet(const Cluster& cluster, Recorder& recorder, Runtime& runtime, Host host,
          const std::map<std::string, DeviceKind>& devices);
  // Registers with the runtime and lists what runs, retrying until it answers. Nothing is started before.
  void Connect();
  void Observe(const Change& change) override;
  void Reconcile() override;

 private:
  struct Entry {
    std::optional<PodState> state;      // what the runtime said last
    bool busy = false;                  // one call to the runtime at a time for each pod
    bool refused = false;               // it can never start here
    std::optional<int64_t> stop_grace;  // the grace it was asked to end with
    Mono not_before{};                  // back-off after a failed call
    int failures = 0;
  };

  async::Task<void> ConnectTask();
  async::Task<void> StartPod(ObjectKey key, std::string uid);
  async::Task<void> StopPod(ObjectKey key, std::string uid, int64_t grace);
  async::Task<void> RemovePod(ObjectKey key, std::string uid);
  async::Task<void> RemoveOrphan(std::string uid);
  async::Task<void> EnsureFolder(std::string space);
  async::Task<Result<Tenant>> TenantOf(std::string space);
  async::Task<void> WakeAt(ObjectKey key, Duration wait);

  void OnState(const PodState& state);
  void Sync(const ObjectKey& key);
  void SyncDeleting(const ObjectKey& key, const json::Value& pod, Entry& entry);
  void TellState(const ObjectKey& key, const json::Value& pod, const PodState& state);
  void Refused(const ObjectKey& key, const std::string& uid, const Error& error);
  void Waits(const ObjectKey& key, const std::string& uid, const std::string& reason, const Error& error);
  void Retry(const ObjectKey& key, Entry& entry);
  Result<std::vector<std::string>> TakeDevices(const ObjectKey& key, const json::Value& pod);
  void RecordPod(const json::Value& pod, std::string_view type, std::string_view reason,
                 const std::string& message);

  const Cluster& cluster_;
  Recorder& recorder_;
  Runtime& runtime_;
  const Host host_;
  const std::map<std::string, DeviceKind>& devices_;
  bool connected_ = false;
  std::map<std::string, Entry> entries_;  // by pod UID
  std::set<ObjectKey> marked_;
  std::set<std::string> folders_;  // namespaces whose data folder is to be made
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cubeplane::engine
