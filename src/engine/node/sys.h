// The few system calls that the runtime needs, as values: owned descriptors, errors with what was being done,
// and paths that cannot leave their folder.
//
// Threading: stateless, from any thread. Every descriptor made here is close-on-exec.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cubeplane::engine::node {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { Reset(); }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset();
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// For a call whose failure changes nothing; the place says why.
inline void BestEffort(const Result<void>&) {}

// errno as an Error: "opening run.json: No such file or directory". A full or read-only disk is kStoreFull, a
// missing file kNotFound, a refusal kForbidden, all else kUnavailable.
Error SysError(std::string_view doing);

// Opens `path` below `dir`. No symbolic link is followed anywhere in it and it cannot leave `dir` (openat2).
Result<Fd> OpenBeneath(int dir, const std::string& path, int flags, mode_t mode = 0);
// Opens the folder `path` below `dir` and makes what is missing of it with `mode`. Links are refused.
Result<Fd> MakeDirsBeneath(int dir, const std::string& path, mode_t mode);
Result<Fd> OpenDir(const std::string& absolute);

// The whole regular file, at most `max_bytes` (kTooLarge beyond).
Result<std::string> ReadFileAt(int dir, const std::string& name, size_t max_bytes);
// Replaces the file in one step: a reader sees the old or the new text. Synced to disk when `sync`.
Result<void> WriteFileAt(int dir, const std::string& name, std::string_view text, mode_t mode, bool sync);
// Writes to an existing kernel file (cgroup, /proc) in one call.
Result<void> WriteKernelFile(const std::string& path, std::string_view text);
std::string ReadKernelFile(const std::string& path);  // "" when it cannot be read; at most 64 KiB

// Removes a file or a whole folder below `dir` without following links. Absent is fine.
Result<void> RemoveTree(int dir, const std::string& name);
// Names in the folder, without "." and "..", sorted.
std::vector<std::string> ListDir(int dir);

Result<void> WriteAll(int fd, std::string_view bytes);
// A memory file with this text, at its start, that survives exec (not close-on-exec).
Result<Fd> MemoryFile(std::string_view text);

std::string BootId();
// Start time of a process in clock ticks since boot, 0 when there is none: with the pid it names one process.
uint64_t ProcessStart(pid_t pid);
Fd PidfdOpen(pid_t pid);
bool PidfdSignal(const Fd& pidfd, int signal);

// Takes the lock of an open file without waiting; false when another holds it.
bool TryLock(int fd);

// A stream or sequenced-packet Unix socket that listens at `path`; an old socket there is replaced. The file
// belongs to `owner` and is open to nobody else. Paths longer than 107 bytes are refused (kInvalid).
Result<Fd> ListenUnix(const std::string& path, int type, uid_t owner);
Result<Fd> ConnectUnix(const std::string& path, int type);

}  // namespace cubeplane::engine::node
