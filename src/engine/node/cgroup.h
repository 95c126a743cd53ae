// Control groups of one pod: v2, v1, or none; whichever this machine has and we may use.
//
// A pod has two groups side by side: `<pod>` holds the sandbox and carries the limits; `<pod>.helpers` holds
// supervisor, door and network, so that the pod's memory limit never kills its keeper. Both lie in
// `cubeplane/<instance>/` of every hierarchy. Threading: none kept; one owner per object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cubeplane::engine::node {

enum class CgroupKind { kNone, kV1, kV2 };

struct CgroupLimits {
  int64_t memory_bytes = 0;  // 0: none, also below
  int64_t cpu_milli = 0;
  int64_t pids = 0;
};

// What this process can use. Only root uses cgroups here: without root the answer is kNone.
CgroupKind DetectCgroups();
// Controllers that work ("memory", "pids", "cpu", "freezer" on v1; "freezer" is always there on v2).
std::vector<std::string> CgroupControllers();

class Cgroup {
 public:
  // `name` is "<pod>" or "<pod>.helpers". Nothing is made before Create.
  Cgroup(std::string instance, std::string name);

  Result<void> Create(const CgroupLimits& limits);
  Result<void> Add(pid_t pid);
  // Processes that the kernel killed here for want of memory, since Create. 0 when this cannot be known.
  int64_t OomKills() const;
  std::vector<pid_t> Pids() const;
  // Kills everything inside and waits (at most 2 s) until it is gone; true when nothing is left.
  bool Kill();
  // Removes the folders, which must be empty of processes.
  void Remove();

 private:
  void SignalAll();
  std::vector<std::string> folders_;  // one on v2, one per controller on v1, none without cgroups
  CgroupKind kind_;
};

// Names of the groups that exist for the instance.
std::vector<std::string> ListCgroups(const std::string& instance);
// Removes the instance's own (empty) folders, and ours when no other instance is left.
void RemoveInstanceCgroups(const std::string& instance);

}  // namespace cubeplane::engine::node
