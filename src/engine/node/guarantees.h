// What this machine lets a pod's limits and walls be, as data for people.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace cubeplane::engine::node {

enum class Hold { kHard, kPartly, kNone };

struct Guarantee {
  std::string what;  // "memory", "processes", "cpu", "disk", "network", "tenants", "orphans"
  Hold hold = Hold::kNone;
  std::string how;  // one sentence
};

// For the node's process as it runs now (root or not, control groups or none, devices and programs that are
// there).
std::vector<Guarantee> Guarantees();
json::Value ToJson(const std::vector<Guarantee>& guarantees);
std::vector<Guarantee> GuaranteesFromJson(const json::Value& value);

}  // namespace cubeplane::engine::node
