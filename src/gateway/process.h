// Starting, knowing and ending HAProxy's process, which outlives ours. Blocking; call off the control thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace cubeplane::gateway {

// A process is known by boot and start time, never by a bare number.
struct ProcessId {
  int pid = 0;
  std::string boot_id;
  uint64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat
  bool operator==(const ProcessId&) const = default;
};

// Errors: kNotFound.
Result<ProcessId> Identify(int pid);
// A zombie is not alive.
bool IsAlive(const ProcessId& id);
// TERM, after `grace` KILL; returns when it has gone. Success when it was not alive.
Result<void> EndProcess(const ProcessId& id, Duration grace);

json::Value Encode(const ProcessId& id);
ProcessId DecodeProcessId(const json::Value& value);

struct DaemonOptions {
  std::string binary, folder, config;  // HAProxy, its working folder, its configuration in there
  std::string pid_file, error_file;    // absolute
};
// Starts HAProxy in a session of its own, with no file of ours open, and gives its identity once it listens.
// Errors: kNotFound (no such binary), kInvalid (HAProxy's own first complaint), kTimeout.
Result<ProcessId> StartDaemon(const DaemonOptions& options);

// Errors: kAlreadyExists when another program listens on `port` of 127.0.0.1 or ::1; kUnavailable when one of
// the two addresses cannot be had.
Result<void> CheckPortFree(uint16_t port);
// How many connections the limit of open files allows, at most 8000.
uint32_t MaxConnections();
// Waits; for short pauses between tries on a worker thread.
void Pause(Duration duration);

}  // namespace cubeplane::gateway
