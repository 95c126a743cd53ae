#include "engine/node/process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cubeplane::engine::node {

Result<pid_t> SpawnChild(const Place& place, const std::function<int()>& body) {
  int gate[2];
  if (pipe2(gate, O_CLOEXEC) != 0) return Fail(SysError("making a pipe"));
  Fd wait(gate[0]), open(gate[1]);
  const pid_t pid = fork();
  if (pid < 0) return Fail(SysError("making a process"));
  if (pid == 0) {
    open.Reset();
    char go = 0;
    if (read(wait.get(), &go, 1) != 1) _exit(125);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    _exit(body());
  }
  if (auto placed = place(pid); !placed) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Fail(placed.error());
  }
  if (write(open.get(), "g", 1) != 1) return Fail(SysError("starting a process"));
  return pid;
}

Result<void> BecomeTenant(uid_t uid) {
  if (geteuid() == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) {
      return Fail(SysError("taking the tenant's user id"));
    }
  }
  prctl(PR_SET_DUMPABLE, 1);
  return {};
}

Result<void> DieWithParent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return Fail(SysError("binding to the supervisor"));
  if (getppid() != parent) return Fail(Code::kUnavailable, "the supervisor is gone");
  return {};
}

Result<void> JoinNamespaces(int user_fd, int net_fd) {
  if (setns(user_fd, CLONE_NEWUSER) != 0) return Fail(SysError("joining the pod's user namespace"));
  if (setns(net_fd, CLONE_NEWNET) != 0) return Fail(SysError("joining the pod's network"));
  return {};
}

void KeepOnly(std::initializer_list<int> fds) {
  std::vector<int> keep(fds);
  std::sort(keep.begin(), keep.end());
  unsigned first = 3;
  for (const int fd : keep) {
    if (fd < 3) continue;
    if (static_cast<unsigned>(fd) > first) syscall(SYS_close_range, first, static_cast<unsigned>(fd) - 1, 0);
    fcntl(fd, F_SETFD, 0);
    first = static_cast<unsigned>(fd) + 1;
  }
  syscall(SYS_close_range, first, ~0u, 0);
}

Error Exec(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {const_cast<char*>("PATH=/usr/sbin:/usr/bin:/sbin:/bin"),
                         const_cast<char*>("LANG=C.UTF-8"), nullptr};
  execve(program.c_str(), argv.data(), environment);
  return SysError("running " + program);
}

int ChildFailed(const Error& error) {
  const std::string line = "cubeplane: " + error.message + "\n";
  BestEffort(WriteAll(STDERR_FILENO, line));
  return 126;
}

}  // namespace cubeplane::engine::node
