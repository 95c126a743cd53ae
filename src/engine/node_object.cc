#include "engine/node_object.h"

#include "base/quantity.h"
#include "engine/api/discovery.h"

namespace cubeplane::engine {
namespace {

json::Value Amounts(const NodeShape& shape) {
  json::Object amounts{
      {"cpu", Quantity::FromMilli(shape.cpu_milli).ToString()},
      {"memory", Quantity::FromInt(shape.memory_bytes, Quantity::Format::kBinarySI).ToString()},
      {"pods", std::to_string(shape.pods)}};
  if (shape.ephemeral_bytes > 0) {
    amounts.Set("ephemeral-storage",
                Quantity::FromInt(shape.ephemeral_bytes, Quantity::Format::kBinarySI).ToString());
  }
  for (const auto& [resource, kind] : shape.devices)
    amounts.Set(resource, std::to_string(kind.pieces.size()));
  return amounts;
}

void WriteStatus(json::Value& node, const NodeShape& shape, const std::string& now) {
  json::Value& status = StatusOf(node);
  // here.
  status.Set("capacity", Amounts(shape));
  status.Set("allocatable", Amounts(shape));
  status.Set("addresses",
             json::Array{json::Value(json::Object{{"type", "Hostname"}, {"address", NameOf(node)}})});
  status.Set("nodeInfo", json::Object{{"operatingSystem", "linux"},
                                      {"architecture", "amd64"},
                                      {"kubeletVersion", kGitVersion},
                                      {"containerRuntimeVersion", "cubeplane://1"}});
  SetCondition(status, "Ready", true, "KubeletReady", "the engine is running", now);
}

}  // namespace

Result<void> EnsureNode(const Cluster& cluster, const NodeShape& shape) {
  const Kind& kind = *FindKindByResource("nodes");
  const ObjectKey key = kind.Key("", cluster.node_name);
  if (!cluster.store.Get(key)) {
    json::Object metadata{
        {"name", cluster.node_name}, {"uid", cluster.NewUid()}, {"creationTimestamp", cluster.Now()}};
    json::Object node{
        {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}, {"spec", json::Object{}}};
    RETURN_IF_ERROR(cluster.store.Create(key, std::move(node)));
  }
  auto written = cluster.Modify(key, [&](json::Value& node) {
    json::Value& labels = Sub(Meta(node), "labels");
    const auto label = [&](const std::string& name, const std::string& value) {
      if (labels[name].IsNull()) labels.Set(name, value);
    };
    label("kubernetes.io/hostname", cluster.node_name);
    label("kubernetes.io/os", "linux");
    label("kubernetes.io/arch", "amd64");
    for (const auto& [name, value] : shape.labels) label(name, value);
    WriteStatus(node, shape, cluster.Now());
  });
  RETURN_IF_ERROR(written);
  return {};
}

}  // namespace cubeplane::engine
