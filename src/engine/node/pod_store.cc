#include "engine/node/pod_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <set>

#include "engine/node/pod_setup.h"
#include "engine/node/spec.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

constexpr long kLockPollNs = 2'000'000;

// The lock, once its holder is gone; an empty Fd when it is still held after `wait`.
Result<Fd> TakeLock(int folder, Duration wait) {
  ASSIGN_OR_RETURN(Fd lock, OpenBeneath(folder, kLockFile, O_RDWR | O_CREAT, 0600));
  const SystemClock clock;
  const Mono until = clock.MonoNow() + wait;
  while (!TryLock(lock.get())) {
    if (clock.MonoNow() >= until) return Fd();
    const timespec rest{0, kLockPollNs};
    nanosleep(&rest, nullptr);
  }
  return lock;
}

}  // namespace

Result<Fd> PodStore::Folder(const std::string& uid) const {
  if (!IsSafeName(uid)) return Fail(Code::kInvalid, "'" + uid.substr(0, 100) + "' is not the UID of a pod");
  return OpenBeneath(pods_.get(), uid, O_RDONLY | O_DIRECTORY);
}

std::vector<std::string> PodStore::List() const {
  std::vector<std::string> uids;
  for (std::string& name : ListDir(pods_.get())) {
    if (IsSafeName(name) && Exists(name)) uids.push_back(std::move(name));
  }
  return uids;
}

bool PodStore::Exists(const std::string& uid) const {
  struct stat info{};
  const std::string path = uid + "/" + kRunFile;
  return IsSafeName(uid) && fstatat(pods_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<SupervisorRecord> PodStore::Read(const std::string& uid) const {
  ASSIGN_OR_RETURN(const Fd folder, Folder(uid));
  auto text = ReadFileAt(folder.get(), kRecordFile, kMaxRecordBytes);
  if (!text) return Fail(text.error());
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(*text));
  return SupervisorRecordFromJson(value);
}

bool PodStore::HasSupervisor(const std::string& uid) const {
  const auto folder = Folder(uid);
  if (!folder) return false;
  const auto lock = TakeLock(folder->get(), Duration(0));
  return lock && !*lock;
}

Result<Fd> PodStore::Create(const PodFile& pod) {
  const std::string& uid = pod.run.uid;
  if (Exists(uid)) return Fail(Code::kAlreadyExists, "there is a pod " + uid);
  if (mkdirat(pods_.get(), uid.c_str(), 0711) != 0 && errno != EEXIST)
    return Fail(SysError("making the pod's folder"));
  ASSIGN_OR_RETURN(Fd folder, Folder(uid));
  RETURN_IF_ERROR(WriteFileAt(folder.get(), kRunFile, json::Write(ToJson(pod)), 0600, true));
  return folder;
}

Result<void> PodStore::KillSupervisor(const std::string& uid) {
  ASSIGN_OR_RETURN(const Fd folder, Folder(uid));
  ASSIGN_OR_RETURN(const Fd free_lock, TakeLock(folder.get(), Duration(0)));
  if (free_lock) return {};
  if (const auto record = Read(uid)) {
    // Open first, then check, then signal: the number cannot come to mean another process in between.
    const Fd process = PidfdOpen(record->pid);
    if (process && record->boot == BootId() && ProcessStart(record->pid) == record->start) {
      PidfdSignal(process, SIGKILL);
    }
  }
  HelperCgroup(node_, uid).Kill();  // holds the supervisor too, also one that has not written its record yet
  ASSIGN_OR_RETURN(const Fd lock, TakeLock(folder.get(), kLockWait));
  if (!lock) return Fail(Code::kUnavailable, "the supervisor of pod " + uid + " does not end");
  return {};
}

Result<PodState> PodStore::Reap(const std::string& uid) {
  ASSIGN_OR_RETURN(const Fd folder, Folder(uid));
  // Held while its tree is killed: nobody starts this pod meanwhile.
  ASSIGN_OR_RETURN(const Fd lock, TakeLock(folder.get(), kLockWait));
  if (!lock) return Fail(Code::kUnavailable, "the supervisor of pod " + uid + " is alive");
  for (Cgroup group : {PayloadCgroup(node_, uid), HelperCgroup(node_, uid)}) {
    if (!group.Kill()) return Fail(Code::kUnavailable, "processes of pod " + uid + " do not end");
    group.Remove();
  }
  RemoveRunFolder(node_, uid);
  auto record = Read(uid);
  if (!record) record = SupervisorRecord{};
  PodState& state = record->state;
  state.uid = uid;
  if (state.phase == PodPhase::kExited || state.phase == PodPhase::kLost) return state;
  state.phase = PodPhase::kLost;
  state.ready = false;
  state.exit_code = 137;
  state.signal = SIGKILL;
  state.door_socket.clear();
  state.finished_at = SystemClock().Now();
  state.message = record->boot.empty() || record->boot == BootId()
                      ? "the pod's supervisor was killed, and its processes with it"
                      : "the machine was restarted";
  RETURN_IF_ERROR(WriteFileAt(folder.get(), kRecordFile, json::Write(ToJson(*record)), 0600, true));
  return state;
}

Result<void> PodStore::Remove(const std::string& uid, bool keep_log) {
  if (auto folder = Folder(uid); !folder) {
    return folder.error().code == Code::kNotFound ? Result<void>() : Result<void>(Fail(folder.error()));
  }
  if (Exists(uid)) {
    RETURN_IF_ERROR(KillSupervisor(uid));
    RETURN_IF_ERROR(Reap(uid));
  }
  if (!keep_log) return RemoveTree(pods_.get(), uid);
  ASSIGN_OR_RETURN(const Fd folder, Folder(uid));
  // run.json goes last: until then the pod is found again, and its removal with it.
  for (const std::string& name : ListDir(folder.get())) {
    if (name != "log" && name != "log.1" && name != kRunFile) RETURN_IF_ERROR(RemoveTree(folder.get(), name));
  }
  return RemoveTree(folder.get(), kRunFile);
}

void PodStore::RemoveOldBinaries() const {
  std::set<std::string> used = {node_.binary};
  for (const std::string& uid : List()) {
    if (!HasSupervisor(uid)) continue;
    const auto folder = Folder(uid);
    const auto pod = folder ? LoadPodFile(folder->get()) : Result<PodFile>(Fail(folder.error()));
    if (!pod) return;  // not known: then nothing is old
    used.insert(pod->node.binary);
  }
  const auto bin = OpenDir(node_.data + "/bin");
  if (!bin) return;
  for (const std::string& name : ListDir(bin->get())) {
    if (!used.contains(node_.data + "/bin/" + name)) unlinkat(bin->get(), name.c_str(), 0);
  }
}

}  // namespace cubeplane::engine::node
