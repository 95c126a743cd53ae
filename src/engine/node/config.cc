#include "engine/node/config.h"

#include "engine/node/spec.h"

namespace cubeplane::engine::node {

using json::Array;
using json::Object;
using json::Value;

Value ToJson(const PodFile& file) {
  Object environments;
  for (const auto& [name, folder] : file.node.environments) environments.Set(name, folder);
  Array allow(file.node.outbound_allow.begin(), file.node.outbound_allow.end());
  return Object{{"protocol", kProtocol},
                {"node", Object{{"data", file.node.data},
                                {"run", file.node.run},
                                {"instance", file.node.instance},
                                {"binary", file.node.binary},
                                {"reader", static_cast<int64_t>(file.node.reader)},
                                {"environments", environments},
                                {"outboundAllow", allow}}},
                {"run", ToJson(file.run)}};
}

Result<PodFile> PodFileFromJson(const Value& value) {
  PodFile file;
  const Value& node = value["node"];
  file.node.data = node["data"].AsString();
  file.node.run = node["run"].AsString();
  file.node.instance = node["instance"].AsString();
  file.node.binary = node["binary"].AsString();
  file.node.reader = static_cast<uint32_t>(node["reader"].AsInt());
  for (const auto& [name, folder] : node["environments"].AsObject())
    file.node.environments[name] = folder.AsString();
  for (const Value& network : node["outboundAllow"].AsArray())
    file.node.outbound_allow.push_back(network.AsString());
  ASSIGN_OR_RETURN(file.run, PodRunFromJson(value["run"]));
  return file;
}

Value ToJson(const SupervisorRecord& record) {
  return Object{{"protocol", kProtocol},
                {"pid", static_cast<int64_t>(record.pid)},
                {"start", static_cast<int64_t>(record.start)},
                {"boot", record.boot},
                {"state", ToJson(record.state)}};
}

SupervisorRecord SupervisorRecordFromJson(const Value& value) {
  return {static_cast<pid_t>(value["pid"].AsInt()), static_cast<uint64_t>(value["start"].AsInt()),
          value["boot"].AsString(), PodStateFromJson(value["state"])};
}

std::string PodFolder(const NodeConfig& node, const std::string& uid) { return node.data + "/pods/" + uid; }
std::string PodRunFolder(const NodeConfig& node, const std::string& uid) { return node.run + "/pods/" + uid; }
std::string ControlSocket(const NodeConfig& node, const std::string& uid) {
  return PodRunFolder(node, uid) + "/ctl";
}
std::string DoorSocket(const NodeConfig& node, const std::string& uid) {
  return PodRunFolder(node, uid) + "/door";
}

}  // namespace cubeplane::engine::node
