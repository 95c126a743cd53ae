// Log lines. Thread-safe. The sink is the process's own: set it once at start (and in tests).
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace cubeplane::log {

enum class Level { kDebug, kInfo, kWarn, kError };
using Fields = std::vector<std::pair<std::string, std::string>>;

struct Record {
  Level level = Level::kInfo;
  std::string message;
  Fields fields;
};

// Where records go. Write is called from any thread.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void Write(const Record& record) = 0;
};

// Null: nothing is written.
void SetSink(std::shared_ptr<Sink> sink);

void Write(Level level, std::string_view message, Fields fields = {});
inline void Debug(std::string_view message, Fields fields = {}) {
  Write(Level::kDebug, message, std::move(fields));
}
inline void Info(std::string_view message, Fields fields = {}) {
  Write(Level::kInfo, message, std::move(fields));
}
inline void Warn(std::string_view message, Fields fields = {}) {
  Write(Level::kWarn, message, std::move(fields));
}
inline void Error(std::string_view message, Fields fields = {}) {
  Write(Level::kError, message, std::move(fields));
}

enum class Form { kText, kJson };

// `2026-03-04T06:02:07.123Z warn gateway is back key=value` or a JSON object; control characters are escaped,
// so a record is one line.
std::string Format(const Record& record, Time at, Form form);

// To an open stream (not owned), records below `least` left out.
class StreamSink final : public Sink {
 public:
  StreamSink(std::FILE* stream, const Clock& clock, Form form, Level least)
      : stream_(stream), clock_(clock), form_(form), least_(least) {}
  void Write(const Record& record) override;

 private:
  std::FILE* stream_;
  const Clock& clock_;
  const Form form_;
  const Level least_;
  std::mutex mutex_;
};

}  // namespace cubeplane::log
