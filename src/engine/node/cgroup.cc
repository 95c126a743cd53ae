#include "engine/node/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "engine/node/sys.h"

namespace cubeplane::engine::node {
namespace {

constexpr int kKillRounds = 200;
constexpr long kKillRoundNs = 10'000'000;
constexpr int64_t kCpuPeriodUs = 100'000;

struct Hierarchy {
  std::string mount;
  std::string controller;  // "" on v2
};

struct Layout {
  CgroupKind kind = CgroupKind::kNone;
  std::vector<Hierarchy> hierarchies;
};

bool HasOption(const std::string& options, std::string_view name) {
  std::stringstream stream(options);
  for (std::string option; std::getline(stream, option, ',');) {
    if (option == name) return true;
  }
  return false;
}

// Whether groups with controllers can be made here: not, for example, in a container whose own root group
// holds processes.
bool CanDelegate(const std::string& mount) {
  return WriteKernelFile(mount + "/cgroup.subtree_control", "+memory +pids +cpu").has_value();
}

// Reads where hierarchies are mounted. A machine with both layouts has its controllers in v1: v2 counts only
// when it carries the memory controller.
Layout ReadLayout() {
  Layout layout;
  if (geteuid() != 0) return layout;
  Layout v2;
  std::stringstream mounts(ReadKernelFile("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::stringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string skip, mount, type, source, options;
    left >> skip >> skip >> skip >> skip >> mount;
    right >> type >> source >> options;
    if (type == "cgroup2" &&
        ReadKernelFile(mount + "/cgroup.controllers").find("memory") != std::string::npos) {
      if (CanDelegate(mount)) v2 = {CgroupKind::kV2, {{mount, ""}}};
    }
    if (type != "cgroup") continue;
    for (const char* controller : {"memory", "pids", "cpu", "freezer"}) {
      if (HasOption(options, controller)) layout.hierarchies.push_back({mount, controller});
    }
  }
  if (v2.kind == CgroupKind::kV2) return v2;
  std::erase_if(layout.hierarchies, [](const Hierarchy& h) { return access(h.mount.c_str(), W_OK) != 0; });
  if (!layout.hierarchies.empty()) layout.kind = CgroupKind::kV1;
  return layout;
}

const Layout& Machine() {
  static const Layout layout = ReadLayout();
  return layout;
}

void Rest(long nanoseconds) {
  const timespec wait{0, nanoseconds};
  nanosleep(&wait, nullptr);
}

Result<void> MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return Fail(SysError("making control group " + path));
  return {};
}

int64_t ReadCounter(const std::string& text, std::string_view key) {
  std::stringstream stream(text);
  std::string word;
  int64_t value = 0;
  while (stream >> word >> value) {
    if (word == key) return value;
  }
  return 0;
}

Result<void> ApplyV1(const std::string& folder, const std::string& controller, const CgroupLimits& limits) {
  if (controller == "memory" && limits.memory_bytes > 0) {
    RETURN_IF_ERROR(WriteKernelFile(folder + "/memory.limit_in_bytes", std::to_string(limits.memory_bytes)));
    // Absent without swap accounting; then swap is not limited either, as the kernel was started.
    BestEffort(WriteKernelFile(folder + "/memory.memsw.limit_in_bytes", std::to_string(limits.memory_bytes)));
  }
  if (controller == "pids" && limits.pids > 0) {
    RETURN_IF_ERROR(WriteKernelFile(folder + "/pids.max", std::to_string(limits.pids)));
  }
  if (controller == "cpu" && limits.cpu_milli > 0) {
    const int64_t quota_us = std::max<int64_t>(1000, limits.cpu_milli * kCpuPeriodUs / 1000);
    RETURN_IF_ERROR(WriteKernelFile(folder + "/cpu.cfs_period_us", std::to_string(kCpuPeriodUs)));
    RETURN_IF_ERROR(WriteKernelFile(folder + "/cpu.cfs_quota_us", std::to_string(quota_us)));
  }
  return {};
}

Result<void> ApplyV2(const std::string& folder, const CgroupLimits& limits) {
  if (limits.memory_bytes > 0) {
    RETURN_IF_ERROR(WriteKernelFile(folder + "/memory.max", std::to_string(limits.memory_bytes)));
    BestEffort(WriteKernelFile(folder + "/memory.swap.max", "0"));  // absent without swap accounting
    RETURN_IF_ERROR(WriteKernelFile(folder + "/memory.oom.group", "1"));
  }
  if (limits.pids > 0) RETURN_IF_ERROR(WriteKernelFile(folder + "/pids.max", std::to_string(limits.pids)));
  if (limits.cpu_milli > 0) {
    const int64_t quota_us = std::max<int64_t>(1000, limits.cpu_milli * kCpuPeriodUs / 1000);
    RETURN_IF_ERROR(
        WriteKernelFile(folder + "/cpu.max", std::to_string(quota_us) + " " + std::to_string(kCpuPeriodUs)));
  }
  return {};
}

}  // namespace

CgroupKind DetectCgroups() { return Machine().kind; }

std::vector<std::string> CgroupControllers() {
  std::vector<std::string> names;
  if (Machine().kind == CgroupKind::kV2) names = {"memory", "pids", "cpu", "freezer"};
  if (Machine().kind == CgroupKind::kV1) {
    for (const Hierarchy& hierarchy : Machine().hierarchies) names.push_back(hierarchy.controller);
  }
  return names;
}

Cgroup::Cgroup(std::string instance, std::string name) : kind_(Machine().kind) {
  for (const Hierarchy& hierarchy : Machine().hierarchies) {
    folders_.push_back(hierarchy.mount + "/cubeplane/" + instance + "/" + name);
  }
}

Result<void> Cgroup::Create(const CgroupLimits& limits) {
  for (size_t i = 0; i < folders_.size(); ++i) {
    const std::string& folder = folders_[i];
    const std::string instance = folder.substr(0, folder.rfind('/'));
    const std::string ours = instance.substr(0, instance.rfind('/'));
    for (const std::string& parent : {ours, instance}) {
      if (kind_ == CgroupKind::kV2) {
        const std::string above = parent.substr(0, parent.rfind('/'));
        RETURN_IF_ERROR(WriteKernelFile(above + "/cgroup.subtree_control", "+memory +pids +cpu"));
      }
      RETURN_IF_ERROR(MakeFolder(parent));
    }
    if (kind_ == CgroupKind::kV2) {
      RETURN_IF_ERROR(WriteKernelFile(instance + "/cgroup.subtree_control", "+memory +pids +cpu"));
    }
    RETURN_IF_ERROR(MakeFolder(folder));
    if (kind_ == CgroupKind::kV2) {
      RETURN_IF_ERROR(ApplyV2(folder, limits));
    } else {
      RETURN_IF_ERROR(ApplyV1(folder, Machine().hierarchies[i].controller, limits));
    }
  }
  return {};
}

Result<void> Cgroup::Add(pid_t pid) {
  for (const std::string& folder : folders_) {
    RETURN_IF_ERROR(WriteKernelFile(folder + "/cgroup.procs", std::to_string(pid)));
  }
  return {};
}

int64_t Cgroup::OomKills() const {
  for (const std::string& folder : folders_) {
    if (kind_ == CgroupKind::kV2) return ReadCounter(ReadKernelFile(folder + "/memory.events"), "oom_kill");
    const std::string control = ReadKernelFile(folder + "/memory.oom_control");
    if (!control.empty()) return ReadCounter(control, "oom_kill");
  }
  return 0;
}

std::vector<pid_t> Cgroup::Pids() const {
  std::vector<pid_t> pids;
  for (const std::string& folder : folders_) {
    std::stringstream stream(ReadKernelFile(folder + "/cgroup.procs"));
    for (pid_t pid = 0; stream >> pid;) {
      if (pid > 0 && std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
    }
  }
  return pids;
}

void Cgroup::SignalAll() {
  if (kind_ == CgroupKind::kV2 && WriteKernelFile(folders_[0] + "/cgroup.kill", "1")) return;
  for (const pid_t pid : Pids()) kill(pid, SIGKILL);
}

bool Cgroup::Kill() {
  if (Pids().empty()) return true;
  std::string freezer;
  for (size_t i = 0; i < folders_.size() && kind_ == CgroupKind::kV1; ++i) {
    if (Machine().hierarchies[i].controller == "freezer") freezer = folders_[i] + "/freezer.state";
  }
  for (int round = 0; round < kKillRounds; ++round) {
    // Frozen processes cannot fork away from the signal, but a frozen v1 group ignores SIGKILL until it is
    // thawed.
    if (!freezer.empty()) BestEffort(WriteKernelFile(freezer, "FROZEN"));
    SignalAll();
    if (!freezer.empty()) BestEffort(WriteKernelFile(freezer, "THAWED"));
    if (Pids().empty()) return true;
    Rest(kKillRoundNs);
  }
  return false;
}

void Cgroup::Remove() {
  for (const std::string& folder : folders_) {
    // A group stays busy for a moment after its last process was reaped.
    for (int round = 0; round < 20 && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++round)
      Rest(kKillRoundNs / 5);
  }
}

std::vector<std::string> ListCgroups(const std::string& instance) {
  std::vector<std::string> names;
  for (const Hierarchy& hierarchy : Machine().hierarchies) {
    const auto folder = OpenDir(hierarchy.mount + "/cubeplane/" + instance);
    if (!folder) continue;
    for (const std::string& name : ListDir(folder->get())) {
      struct stat info{};
      if (fstatat(folder->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode))
        continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void RemoveInstanceCgroups(const std::string& instance) {
  for (const Hierarchy& hierarchy : Machine().hierarchies) {
    const std::string ours = hierarchy.mount + "/cubeplane";
    rmdir((ours + "/" + instance).c_str());
    rmdir(ours.c_str());  // refused while another instance has its folder there
  }
}

}  // namespace cubeplane::engine::node
