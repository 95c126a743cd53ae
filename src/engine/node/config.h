// What the node hands to each supervisor beside the pod itself. It lies in the pod's folder (run.json), so
// that a supervisor needs no other source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/runtime.h"
#include "json/value.h"

namespace cubeplane::engine::node {

struct NodeConfig {
  std::string data;                                 // DATA, absolute
  std::string run;                                  // folder of sockets, absolute and short
  std::string instance;                             // names our control groups and tenants
  std::string binary;                               // the copy of this program that supervisors and pods run
  uint32_t reader = 0;                              // the control plane's user: reads logs, opens doors
  std::map<std::string, std::string> environments;  // "default" → folder, mounted at /opt/env
  std::vector<std::string> outbound_allow;  // IPv4 networks that pods may reach although they are private
};

struct PodFile {
  NodeConfig node;
  PodRun run;
};

json::Value ToJson(const PodFile& file);
Result<PodFile> PodFileFromJson(const json::Value& value);

// What a supervisor leaves on disk about itself: enough to find it again, or to know that it is gone.
struct SupervisorRecord {
  pid_t pid = 0;
  uint64_t start = 0;  // ticks since boot
  std::string boot;
  PodState state;
};
json::Value ToJson(const SupervisorRecord& record);
SupervisorRecord SupervisorRecordFromJson(const json::Value& value);

inline constexpr size_t kMaxPodFileBytes = 4u << 20;
inline constexpr size_t kMaxRecordBytes = 256u << 10;
inline constexpr const char *kRunFile = "run.json", *kRecordFile = "state.json", *kLockFile = "lock";

// DATA/pods/<uid> and RUN/pods/<uid>/{ctl,door}.
std::string PodFolder(const NodeConfig& node, const std::string& uid);
std::string PodRunFolder(const NodeConfig& node, const std::string& uid);
std::string ControlSocket(const NodeConfig& node, const std::string& uid);
std::string DoorSocket(const NodeConfig& node, const std::string& uid);

}  // namespace cubeplane::engine::node
