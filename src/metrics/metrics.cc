#include "metrics/metrics.h"

#include <charconv>
#include <iterator>

namespace cubeplane::metrics {
namespace {

std::string Number(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::string LabelText(const Labels& labels, const std::string& extra = {}) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (!text.empty()) text += ",";
    text += name + "=\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') text.push_back('\\');
      if (c == '\n') {
        text += "\\n";
      } else {
        text.push_back(c);
      }
    }
    text += "\"";
  }
  if (!extra.empty()) text += (text.empty() ? "" : ",") + extra;
  return text.empty() ? text : "{" + text + "}";
}

}  // namespace

Registry::Series& Registry::Find(const std::string& name, const std::string& help, const char* type,
                                 Labels labels) {
  Metric& metric = metrics_[name];
  metric.help = help;
  metric.type = type;
  if (metric.series.size() >= kMaxSeries && !metric.series.contains(labels)) {
    for (auto& [label, value] : labels) value = "other";
  }
  return metric.series[std::move(labels)];
}

void Registry::Count(const std::string& name, const std::string& help, Labels labels, double by) {
  std::lock_guard lock(mutex_);
  Find(name, help, "counter", std::move(labels)).value += by;
}

void Registry::SetGauge(const std::string& name, const std::string& help, Labels labels, double value) {
  std::lock_guard lock(mutex_);
  Find(name, help, "gauge", std::move(labels)).value = value;
}

void Registry::ObserveSeconds(const std::string& name, const std::string& help, Labels labels,
                              double seconds) {
  std::lock_guard lock(mutex_);
  Series& series = Find(name, help, "histogram", std::move(labels));
  series.buckets.resize(std::size(kSecondsBounds));
  for (size_t i = 0; i < std::size(kSecondsBounds); ++i) {
    if (seconds <= kSecondsBounds[i]) ++series.buckets[i];
  }
  series.value += seconds;
  ++series.count;
}

void Registry::GaugeFrom(const std::string& name, const std::string& help, std::function<double()> read) {
  std::lock_guard lock(mutex_);
  Metric& metric = metrics_[name];
  metric.help = help;
  metric.type = "gauge";
  metric.read = std::move(read);
}

std::string Registry::Text() const {
  std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, metric] : metrics_) {
    text += "# HELP " + name + " " + metric.help + "\n# TYPE " + name + " " + metric.type + "\n";
    if (metric.read) text += name + " " + Number(metric.read()) + "\n";
    for (const auto& [labels, series] : metric.series) {
      if (metric.type != "histogram") {
        text += name + LabelText(labels) + " " + Number(series.value) + "\n";
        continue;
      }
      for (size_t i = 0; i < std::size(kSecondsBounds); ++i) {
        text += name + "_bucket" + LabelText(labels, "le=\"" + Number(kSecondsBounds[i]) + "\"") + " " +
                std::to_string(series.buckets[i]) + "\n";
      }
      text += name + "_bucket" + LabelText(labels, "le=\"+Inf\"") + " " + std::to_string(series.count) + "\n";
      text += name + "_sum" + LabelText(labels) + " " + Number(series.value) + "\n";
      text += name + "_count" + LabelText(labels) + " " + std::to_string(series.count) + "\n";
    }
  }
  return text;
}

}  // namespace cubeplane::metrics
