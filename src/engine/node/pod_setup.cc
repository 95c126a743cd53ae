#include "engine/node/pod_setup.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/node/archive.h"
#include "engine/node/sandbox.h"
#include "engine/node/spec.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

// Door, slirp4netns and supervisor together: far above what they use, so that a leak ends one pod and not the
// machine.
constexpr CgroupLimits kHelperLimits{512ll << 20, 0, 64};

Result<void> UnpackCode(const PodRun& run, int pod_folder) {
  for (size_t i = 0; i < run.mounts.size(); ++i) {
    if (run.mounts[i].kind != Mount::Kind::kCode) continue;
    RETURN_IF_ERROR(RemoveTree(pod_folder, CodeFolder(i)));
    ASSIGN_OR_RETURN(const Fd folder, MakeDirsBeneath(pod_folder, CodeFolder(i), 0755));
    RETURN_IF_ERROR(UnpackArchive(run.mounts[i].archive, folder.get()));
  }
  return {};
}

}  // namespace

Result<PodFile> LoadPodFile(int pod_folder) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(pod_folder, kRunFile, kMaxPodFileBytes));
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(text));
  ASSIGN_OR_RETURN(PodFile pod, PodFileFromJson(value));
  RETURN_IF_ERROR(CheckRun(pod.run));
  return pod;
}

Result<PodResources> PreparePod(const PodFile& pod, int pod_folder) {
  RETURN_IF_ERROR(ResolveImage(pod.node, pod.run.image));
  for (const std::string& device : pod.run.devices) {
    struct stat info{};
    if (stat(device.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
      return Fail(Code::kInvalid, "the device " + device + " is not on this machine");
    }
  }
  RETURN_IF_ERROR(UnpackCode(pod.run, pod_folder));
  const std::string folder = PodRunFolder(pod.node, pod.run.uid);
  if (mkdir(folder.c_str(), 0711) != 0 && errno != EEXIST) return Fail(SysError("making " + folder));
  PodResources resources;
  ASSIGN_OR_RETURN(resources.control_listener,
                   ListenUnix(ControlSocket(pod.node, pod.run.uid), SOCK_SEQPACKET, geteuid()));
  if (pod.run.door) {
    ASSIGN_OR_RETURN(resources.door_listener,
                     ListenUnix(DoorSocket(pod.node, pod.run.uid), SOCK_STREAM, pod.node.reader));
  }
  return resources;
}

Cgroup PayloadCgroup(const NodeConfig& node, const std::string& uid) { return Cgroup(node.instance, uid); }
Cgroup HelperCgroup(const NodeConfig& node, const std::string& uid) {
  return Cgroup(node.instance, uid + ".helpers");
}

Result<void> CreateCgroups(const PodFile& pod, Cgroup& payload, Cgroup& helpers) {
  RETURN_IF_ERROR(helpers.Create(kHelperLimits));
  return payload.Create({pod.run.memory_bytes, pod.run.cpu_milli, pod.run.pids});
}

void RemoveRunFolder(const NodeConfig& node, const std::string& uid) {
  unlink(ControlSocket(node, uid).c_str());
  unlink(DoorSocket(node, uid).c_str());
  rmdir(PodRunFolder(node, uid).c_str());
}

}  // namespace cubeplane::engine::node
