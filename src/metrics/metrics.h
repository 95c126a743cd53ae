// Numbers for Prometheus. Thread-safe. The number of label sets per metric is bounded: further ones are
// counted together under label values "other".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cubeplane::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;
inline constexpr size_t kMaxSeries = 1000;

class Registry {
 public:
  // Adds `by` to a counter; by convention its name ends in _total.
  void Count(const std::string& name, const std::string& help, Labels labels = {}, double by = 1);
  void SetGauge(const std::string& name, const std::string& help, Labels labels, double value);
  // Into a histogram of seconds with the bounds of kSecondsBounds.
  void ObserveSeconds(const std::string& name, const std::string& help, Labels labels, double seconds);
  // Asked for at each scrape.
  void GaugeFrom(const std::string& name, const std::string& help, std::function<double()> read);
  // The exposition text, metrics sorted by name.
  std::string Text() const;

 private:
  struct Series {
    double value = 0;
    std::vector<uint64_t> buckets;
    uint64_t count = 0;
  };
  struct Metric {
    std::string help, type;
    std::map<Labels, Series> series;
    std::function<double()> read;
  };
  Series& Find(const std::string& name, const std::string& help, const char* type, Labels labels);

  mutable std::mutex mutex_;
  std::map<std::string, Metric> metrics_;
};

inline constexpr double kSecondsBounds[] = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60};

}  // namespace cubeplane::metrics
