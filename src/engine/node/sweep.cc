#include "engine/node/sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "engine/node/cgroup.h"
#include "engine/node/node_setup.h"
#include "engine/node/pod_store.h"

namespace cubeplane::engine::node {
namespace {

Result<void> EndNode(int pods, const NodeRecord& record) {
  ASSIGN_OR_RETURN(const Fd lock, OpenBeneath(pods, kNodeLock, O_RDWR | O_CREAT, 0600));
  if (TryLock(lock.get())) return {};
  const Fd process = PidfdOpen(record.pid);
  if (process && ProcessStart(record.pid) == record.start) PidfdSignal(process, SIGKILL);
  const SystemClock clock;
  const Mono until = clock.MonoNow() + kLockWait;
  while (!TryLock(lock.get())) {
    if (clock.MonoNow() >= until) return Fail(Code::kUnavailable, "the node process does not end");
    const timespec rest{0, 2'000'000};
    nanosleep(&rest, nullptr);
  }
  return {};
}

}  // namespace

Result<void> SweepInstance(const std::string& data) {
  auto pods = OpenDir(data + "/pods");
  if (!pods) return pods.error().code == Code::kNotFound ? Result<void>() : Result<void>(Fail(pods.error()));
  auto record = ReadNodeRecord(pods->get());
  if (!record)
    return record.error().code == Code::kNotFound ? Result<void>() : Result<void>(Fail(record.error()));
  RETURN_IF_ERROR(EndNode(pods->get(), *record));

  NodeConfig config;
  config.data = data;
  config.run = record->run;
  config.instance = record->instance;
  PodStore store(config, std::move(*pods));
  for (const std::string& uid : store.List()) {
    RETURN_IF_ERROR(store.KillSupervisor(uid));
    RETURN_IF_ERROR(store.Reap(uid));
  }
  // Groups whose pod folder is gone: killed too, by the instance's name alone.
  for (const std::string& name : ListCgroups(config.instance)) {
    Cgroup group(config.instance, name);
    if (!group.Kill()) return Fail(Code::kUnavailable, "processes in control group " + name + " do not end");
    group.Remove();
  }
  RemoveInstanceCgroups(config.instance);
  rmdir((config.run + "/pods").c_str());
  return {};
}

}  // namespace cubeplane::engine::node
