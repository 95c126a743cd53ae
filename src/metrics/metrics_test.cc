#include "metrics/metrics.h"

#include <gtest/gtest.h>

namespace cubeplane::metrics {
namespace {

TEST(Registry, WritesTheExpositionFormat) {
  Registry registry;
  registry.Count("a_total", "Things.", {{"code", "2\"x"}});
  registry.Count("a_total", "Things.", {{"code", "2\"x"}}, 2);
  registry.SetGauge("b", "Now.", {}, 1.5);
  registry.GaugeFrom("c", "Asked.", [] { return 7.0; });
  registry.ObserveSeconds("d_seconds", "Took.", {}, 0.02);
  const std::string text = registry.Text();
  EXPECT_NE(text.find("# TYPE a_total counter\na_total{code=\"2\\\"x\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nb 1.5\n"), std::string::npos);
  EXPECT_NE(text.find("\nc 7\n"), std::string::npos);
  EXPECT_NE(text.find("d_seconds_bucket{le=\"0.01\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("d_seconds_bucket{le=\"0.05\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("d_seconds_count 1\n"), std::string::npos);
}

TEST(Registry, BoundsTheNumberOfSeries) {
  Registry registry;
  for (size_t i = 0; i < kMaxSeries + 50; ++i) registry.Count("a_total", "", {{"path", std::to_string(i)}});
  EXPECT_NE(registry.Text().find("a_total{path=\"other\"} 50\n"), std::string::npos);
}

}  // namespace
}  // namespace cubeplane::metrics
