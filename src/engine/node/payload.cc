#include "engine/node/payload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/node/cgroup.h"
#include "engine/node/sandbox.h"
#include "engine/node/seccomp.h"
#include "engine/node/spec.h"

namespace cubeplane::engine::node {
namespace {

constexpr const char* kBwrap = "/usr/bin/bwrap";
constexpr rlim_t kMaxFiles = 65536;

struct Pipes {
  Fd out_read, out_write, err_read, err_write;
};

Result<Pipes> MakePipes(uid_t tenant) {
  Pipes pipes;
  for (auto [read_end, write_end] :
       {std::pair{&pipes.out_read, &pipes.out_write}, {&pipes.err_read, &pipes.err_write}}) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Fail(SysError("making a log pipe"));
    *read_end = Fd(ends[0]);
    *write_end = Fd(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    // /dev/stdout opens the pipe anew: it must belong to the tenant.
    if (geteuid() == 0 && fchown(ends[1], tenant, tenant) != 0)
      return Fail(SysError("handing over a log pipe"));
  }
  return pipes;
}

void Limit(int resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

// Where there is no control group, the kernel's limits per process (memory) and per user namespace
// (processes) stand in.
void SetLimits(const PodRun& run, bool has_cgroups) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, kMaxFiles);
  if (has_cgroups) return;
  Limit(RLIMIT_NPROC, static_cast<rlim_t>(run.pids));
  if (run.cpu_milli > 0) setpriority(PRIO_PROCESS, 0, 5);
}

// As root the stage is built with root's rights, before they go. Without root, the rights come with the pod's
// own user namespace.
Result<void> EnterSandbox(const StagePlan& stage, uid_t tenant, const PodNetwork& network, pid_t parent) {
  const bool root = geteuid() == 0;
  if (root) RETURN_IF_ERROR(BuildStage(stage));
  RETURN_IF_ERROR(BecomeTenant(tenant));
  RETURN_IF_ERROR(JoinNamespaces(network.user_namespace(), network.net_namespace()));
  if (!root) RETURN_IF_ERROR(BuildStage(stage));
  return DieWithParent(parent);
}

std::string NulSeparated(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(word).push_back('\0');
  return text;
}

}  // namespace

void Payload::Signal(int number) {
  const std::string packet = "signal " + std::to_string(number);
  if (control) send(control.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Payload::ReadControl() {
  char packet[kMaxTerminationBytes + 256];
  bool just_started = false;
  while (control) {
    const ssize_t got = recv(control.get(), packet, sizeof packet, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      control.Reset();
      break;
    }
    InitReport heard = ParseInitReport(std::string_view(packet, static_cast<size_t>(got)));
    if (heard.kind == InitReport::Kind::kStarted) {
      just_started = !started;
      started = true;
    } else if (heard.kind != InitReport::Kind::kUnknown) {
      report = std::move(heard);
    }
  }
  return just_started;
}

Result<Payload> StartPayload(const PodFile& pod, const PodNetwork& network, const Place& place) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return Fail(SysError("making a socket pair"));
  Payload payload;
  payload.control = Fd(pair[0]);
  const Fd theirs(pair[1]);
  ASSIGN_OR_RETURN(Pipes pipes, MakePipes(pod.run.tenant.uid));
  ASSIGN_OR_RETURN(const Fd filter, SeccompFilter());
  ASSIGN_OR_RETURN(const SandboxPlan plan, PlanSandbox(pod, filter.get(), theirs.get()));
  ASSIGN_OR_RETURN(const Fd options, MemoryFile(NulSeparated(plan.options)));
  const bool has_cgroups = DetectCgroups() != CgroupKind::kNone;
  const pid_t parent = getpid();
  const auto body = [&]() -> int {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(pipes.out_write.get(), STDOUT_FILENO);
    dup2(pipes.err_write.get(), STDERR_FILENO);
    umask(022);
    // The supervisor's own protection from the out-of-memory killer is not for its payload.
    BestEffort(WriteKernelFile("/proc/self/oom_score_adj", "0"));
    if (auto entered = EnterSandbox(plan.stage, pod.run.tenant.uid, network, parent); !entered) {
      return ChildFailed(entered.error());
    }
    SetLimits(pod.run, has_cgroups);
    KeepOnly({theirs.get(), filter.get(), options.get()});
    std::vector<std::string> arguments = {"--args", std::to_string(options.get()), "--"};
    arguments.insert(arguments.end(), plan.command.begin(), plan.command.end());
    return ChildFailed(Exec(kBwrap, arguments));
  };
  ASSIGN_OR_RETURN(payload.pid, SpawnChild(place, body));
  payload.out = std::move(pipes.out_read);
  payload.err = std::move(pipes.err_read);
  return payload;
}

}  // namespace cubeplane::engine::node
