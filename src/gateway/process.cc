#include "gateway/process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "gateway/files.h"

namespace cubeplane::gateway {
namespace {

constexpr Duration kStartLimit = std::chrono::seconds(30);
constexpr uint32_t kMostConnections = 8000;
constexpr size_t kMaxProcFile = 1u << 16;

int Milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// A handle on a process that a reused number cannot redirect.
class PidFd {
 public:
  explicit PidFd(int pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  PidFd(const PidFd&) = delete;
  PidFd& operator=(const PidFd&) = delete;
  ~PidFd() {
    if (fd_ >= 0) close(fd_);
  }
  bool WaitEnd(Duration limit) const {
    pollfd entry{.fd = fd_, .events = POLLIN, .revents = 0};
    return fd_ < 0 || poll(&entry, 1, Milliseconds(limit)) == 1;
  }
  void Signal(int number) const { syscall(SYS_pidfd_send_signal, fd_, number, nullptr, 0); }

 private:
  int fd_;
};

std::string BootId() {
  auto id = ReadWhole("/proc/sys/kernel/random/boot_id", kMaxProcFile);
  if (!id) return "";
  while (id->ends_with('\n')) id->pop_back();
  return *id;
}

struct Stat {
  char state = 0;
  uint64_t start_ticks = 0;
};

Result<Stat> ReadStat(int pid) {
  ASSIGN_OR_RETURN(const std::string text, ReadWhole("/proc/" + std::to_string(pid) + "/stat", kMaxProcFile));
  // "pid (comm) state …": comm may hold blanks and parentheses, so count from the last one.
  const size_t close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size())
    return Fail(Code::kInternal, "/proc/stat is odd");
  std::string_view rest = std::string_view(text).substr(close + 2);
  Stat stat{.state = rest[0]};
  for (int field = 3; field < 22; ++field) {
    const size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) return Fail(Code::kInternal, "/proc/stat is short");
    rest.remove_prefix(blank + 1);
  }
  std::from_chars(rest.data(), rest.data() + rest.size(), stat.start_ticks);
  return stat;
}

// HAProxy's first complaint, without its time and number.
std::string FirstAlert(const std::string& path) {
  auto text = ReadWhole(path, 1u << 20);
  if (!text) return "no reason given";
  const size_t alert = text->find("[ALERT]");
  if (alert == std::string::npos)
    return text->empty() ? "no reason given" : text->substr(0, text->find('\n'));
  const size_t colon = text->find(" : ", alert);
  const size_t begin = colon == std::string::npos ? alert : colon + 3;
  return text->substr(begin, std::min<size_t>(text->find('\n', begin) - begin, 300));
}

Result<int> Spawn(const DaemonOptions& options) {
  const int errors = open(options.error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (errors < 0)
    return Fail(Code::kUnavailable, "cannot write " + options.error_file + ": " + strerror(errno));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, errors, 1);
  posix_spawn_file_actions_adddup2(&files, errors, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // -D: HAProxy forks once more, and its parent returns when all listens or the reason is written.
  const char* arguments[] = {
      options.binary.c_str(), "-D",   "-C", options.folder.c_str(), "-p", options.pid_file.c_str(), "-f",
      options.config.c_str(), nullptr};
  const char* environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", nullptr};
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, options.binary.c_str(), &files, &attributes,
                                 const_cast<char**>(arguments), const_cast<char**>(environment));
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  close(errors);
  if (failed != 0) {
    return Fail(Code::kNotFound, "HAProxy cannot be started: " + options.binary + ": " + strerror(failed));
  }
  return pid;
}

Result<void> TryBind(int family, const sockaddr* address, socklen_t size, std::string_view name,
                     uint16_t port) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int failed = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, address, size) != 0 || listen(fd, 1) != 0) failed = errno;
    close(fd);
  }
  if (failed == 0) return {};
  const std::string where = std::string(name) + " port " + std::to_string(port);
  if (failed == EADDRINUSE) {
    return Fail(Error(Code::kAlreadyExists, "gateway_port_taken", {{"port", std::to_string(port)}},
                      where + " is taken by another program: end it, or choose another port with --port"));
  }
  return Fail(Error(Code::kUnavailable, "gateway_address_missing", {{"address", std::string(name)}},
                    where + " cannot be had (" + strerror(failed) +
                        "); browsers lead *.localhost to both 127.0.0.1 and ::1, so both are needed"));
}

}  // namespace

Result<ProcessId> Identify(int pid) {
  ASSIGN_OR_RETURN(const Stat stat, ReadStat(pid));
  if (stat.state == 'Z' || stat.state == 'X') return Fail(Code::kNotFound, "the process has ended");
  return ProcessId{pid, BootId(), stat.start_ticks};
}

bool IsAlive(const ProcessId& id) {
  if (id.pid <= 0) return false;
  const auto now = Identify(id.pid);
  return now && *now == id;
}

Result<void> EndProcess(const ProcessId& id, Duration grace) {
  PidFd handle(id.pid);
  if (!IsAlive(id)) return {};  // asked after the handle was taken: the handle is on this very process
  handle.Signal(SIGTERM);
  if (handle.WaitEnd(grace)) return {};
  handle.Signal(SIGKILL);
  if (handle.WaitEnd(grace)) return {};
  return Fail(Code::kTimeout, "HAProxy (process " + std::to_string(id.pid) + ") does not end");
}

json::Value Encode(const ProcessId& id) {
  return json::Object{{"pid", id.pid}, {"bootId", id.boot_id}, {"startTicks", id.start_ticks}};
}

ProcessId DecodeProcessId(const json::Value& value) {
  return {static_cast<int>(value["pid"].AsInt()), value["bootId"].AsString(),
          static_cast<uint64_t>(value["startTicks"].AsInt())};
}

Result<ProcessId> StartDaemon(const DaemonOptions& options) {
  unlink(options.pid_file.c_str());
  ASSIGN_OR_RETURN(const int child, Spawn(options));
  int status = 0;
  {
    PidFd handle(child);
    if (!handle.WaitEnd(kStartLimit)) {
      handle.Signal(SIGKILL);
      waitpid(child, &status, 0);
      return Fail(Code::kTimeout, "HAProxy did not start within 30 s");
    }
  }
  if (waitpid(child, &status, 0) == child && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
    return Fail(Code::kInvalid, "HAProxy does not start: " + FirstAlert(options.error_file));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadWhole(options.pid_file, 64));
  int pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return Identify(pid);
}

Result<void> CheckPortFree(uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  RETURN_IF_ERROR(TryBind(AF_INET, reinterpret_cast<sockaddr*>(&four), sizeof four, "127.0.0.1", port));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  return TryBind(AF_INET6, reinterpret_cast<sockaddr*>(&six), sizeof six, "[::1]", port);
}

uint32_t MaxConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_max == RLIM_INFINITY) return kMostConnections;
  const uint64_t spare = limit.rlim_max > 200 ? limit.rlim_max - 200 : 0;
  return static_cast<uint32_t>(std::min<uint64_t>(kMostConnections, spare / 2));
}

void Pause(Duration duration) { poll(nullptr, 0, Milliseconds(duration)); }

}  // namespace cubeplane::gateway
