#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/world.h"

namespace cubeplane::sim {
namespace {

uint64_t Seeds() {
  // `./test --all` asks for more.
  const char* seeds = std::getenv("CUBEPLANE_SIM_SEEDS");
  return seeds ? std::strtoull(seeds, nullptr, 10) : 12;
}

std::string Said(const Report& report) {
  std::string text;
  for (const std::string& violation : report.violations) text += violation + "\n";
  return text;
}

TEST(Simulation, TheLawsHoldUnderKillsAndFaults) {
  int kills = 0, accepted = 0, runs = 0;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const Report report = Simulate({.seed = seed});
    EXPECT_TRUE(report.violations.empty()) << "seed " << seed << "\n" << Said(report);
    kills += report.kills;
    accepted += report.accepted;
    runs += report.runs;
  }
  // A run in which nothing happens proves nothing.
  EXPECT_GT(kills, 10);
  EXPECT_GT(accepted, 50);
  EXPECT_GT(runs, 50);
}

TEST(Simulation, TheSameSeedReplaysByteForByte) {
  const Report first = Simulate({.seed = 4, .steps = 2000});
  const Report again = Simulate({.seed = 4, .steps = 2000});
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_NE(first.trace, Simulate({.seed = 5, .steps = 2000}).trace);
}

// A check that cannot fail is a defect: each plant must be found.
void Finds(Plant plant, const std::string& law) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Report report = Simulate({.seed = seed, .plant = plant});
    for (const std::string& violation : report.violations) {
      if (violation.starts_with(law)) {
        ::testing::Test::RecordProperty("seeds", std::to_string(seed));
        return;
      }
    }
  }
  FAIL() << "60 seeds did not find the planted bug";
}

TEST(Simulation, FindsADecisionThatTrustsTheCache) { Finds(Plant::kTrustsTheCache, "law "); }
TEST(Simulation, FindsADecisionThatReleasesEarly) { Finds(Plant::kReleasesEarly, "law 1"); }

}  // namespace
}  // namespace cubeplane::sim
