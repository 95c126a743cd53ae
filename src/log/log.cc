#include "log/log.h"

namespace cubeplane::log {
namespace {

std::mutex sink_mutex;
std::shared_ptr<Sink> sink;

const char* Name(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarn:
      return "warn";
    case Level::kError:
      return "error";
  }
  return "error";
}

// Escapes what would end the line, the string, or steer a terminal.
std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

bool Plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '\\' || c == '=' || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

void SetSink(std::shared_ptr<Sink> new_sink) {
  std::lock_guard lock(sink_mutex);
  sink = std::move(new_sink);
}

void Write(Level level, std::string_view message, Fields fields) {
  std::shared_ptr<Sink> to;
  {
    std::lock_guard lock(sink_mutex);
    to = sink;
  }
  if (to) to->Write({level, std::string(message), std::move(fields)});
}

std::string Format(const Record& record, Time at, Form form) {
  if (form == Form::kJson) {
    std::string line = "{\"time\":\"" + FormatTime(at) + "\",\"level\":\"" + Name(record.level) +
                       "\",\"message\":\"" + Escape(record.message) + "\"";
    for (const auto& [key, value] : record.fields)
      line += ",\"" + Escape(key) + "\":\"" + Escape(value) + "\"";
    return line + "}\n";
  }
  std::string line = FormatTime(at) + " " + Name(record.level) + " " + Escape(record.message);
  for (const auto& [key, value] : record.fields) {
    line += " " + key + "=" + (Plain(value) ? value : "\"" + Escape(value) + "\"");
  }
  return line + "\n";
}

void StreamSink::Write(const Record& record) {
  if (record.level < least_) return;
  const std::string line = Format(record, clock_.Now(), form_);
  std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

}  // namespace cubeplane::log
