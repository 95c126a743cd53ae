// The route table from what is wanted and what runs. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "json/value.h"
#include "model/objects.h"
#include "state/entry.h"
#include "state/ledger.h"

namespace cubeplane::controller::route {

struct Input {
  std::vector<state::WorkloadPtr> workloads;
  std::map<std::string, json::Value> pods;     // by workload UID: the notebook's present pod
  std::map<std::string, std::string> secrets;  // by workload UID
  std::string domain;                          // "localhost"
};

// A route for each notebook that runs and whose pod has a door and is not going away. A pod that goes takes
// its route with it at once: its address may belong to another soon.
std::vector<state::Route> Decide(const Input& input);

}  // namespace cubeplane::controller::route
