// Process 1 of a sandbox: starts the payload in a session of its own, reaps, passes signals, and says how it
// ended.
//
// Packets on the control socket (SOCK_SEQPACKET), down: "signal <n>". Up: "started"; then one of
//   "exit <wait status>\n<termination message>"   "fail <errno>\n<program>"   (the payload could not be
//   executed).
// When the control socket ends, so does the pod: the kernel kills whatever is left when process 1 goes.
#pragma once

#include <string>
#include <string_view>

namespace cubeplane::engine::node {

inline constexpr const char* kTerminationFile = "/dev/termination-log";

struct InitReport {
  enum class Kind { kStarted, kExit, kFail, kUnknown } kind = Kind::kUnknown;
  int number = 0;    // wait status, or errno
  std::string text;  // termination message, or the program
};
InitReport ParseInitReport(std::string_view packet);

// argv: CONTROL_FD WORKING_FOLDER MEMORY PROGRAM ARGUMENTS…; MEMORY: bytes that each process may have
// (RLIMIT_DATA), 0 where a control group limits the pod. The working folder and $HOME are made when absent,
// with the payload's rights.
int RunPodInit(int argc, char** argv);

}  // namespace cubeplane::engine::node
