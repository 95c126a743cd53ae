// One seeded run: people, faults and kills around a Process, with the laws checked all along.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/checks.h"
#include "sim/process.h"

namespace cubeplane::sim {

// Wrong decision functions that a check must find.
enum class Plant {
  kNone,
  kTrustsTheCache,  // a pod that the cache does not show counts as gone: the next attempt starts beside the
                    // last
  kReleasesEarly,   // an asked-for stop counts as the end: quota is released while the pod still runs
};

struct Settings {
  uint64_t seed = 1;
  int steps = 4000;
  Plant plant = Plant::kNone;
};

struct Report {
  std::vector<std::string> violations;  // at most kMaxViolations
  std::string trace;                    // a line per thing that happened, the same for the same seed
  int kills = 0, accepted = 0, refused = 0, runs = 0;
};

Report Simulate(const Settings& settings);

}  // namespace cubeplane::sim
