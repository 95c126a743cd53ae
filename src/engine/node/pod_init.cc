#include "engine/node/pod_init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/node/spec.h"

namespace cubeplane::engine::node {
namespace {

void Send(int control, const std::string& packet) {
  send(control, packet.data(), packet.size(), MSG_NOSIGNAL);
}

std::string TerminationMessage() {
  const int fd = open(kTerminationFile, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::string text(kMaxTerminationBytes, '\0');
  const ssize_t got = fd < 0 ? 0 : read(fd, text.data(), text.size());
  if (fd >= 0) close(fd);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

void MakeFolders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), 0755);
  }
  mkdir(path.c_str(), 0755);
}

// Forks the payload. `failure` gets errno when it could not be executed, 0 when it runs.
pid_t StartPayload(char** argv, rlim_t memory, int& failure) {
  int status[2];
  if (pipe2(status, O_CLOEXEC) != 0) return -1;
  const pid_t payload = fork();
  if (payload == 0) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    prctl(PR_SET_DUMPABLE, 1);
    const rlimit limit{memory, memory};
    if (memory > 0) setrlimit(RLIMIT_DATA, &limit);
    execvp(argv[0], argv);
    const int error = errno;
    if (write(status[1], &error, sizeof error) < 0) _exit(126);
    _exit(127);
  }
  close(status[1]);
  failure = 0;
  while (read(status[0], &failure, sizeof failure) < 0 && errno == EINTR) {
  }
  close(status[0]);
  return payload;
}

// Reaps all that ended; true once the payload is among them.
bool Reap(pid_t payload, int& status) {
  bool ended = false;
  int one = 0;
  for (pid_t pid = waitpid(-1, &one, WNOHANG); pid > 0; pid = waitpid(-1, &one, WNOHANG)) {
    if (pid != payload) continue;
    ended = true;
    status = one;
  }
  return ended;
}

int Serve(int control, int signals, pid_t payload) {
  for (;;) {
    pollfd polls[2] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(polls, 2, -1) < 0 && errno != EINTR) return 1;
    if (polls[1].revents) {
      signalfd_siginfo info;
      if (read(signals, &info, sizeof info) < 0 && errno != EAGAIN) return 1;
      int status = 0;
      if (Reap(payload, status)) {
        Send(control, "exit " + std::to_string(status) + "\n" + TerminationMessage());
        return 0;
      }
    }
    if (polls[0].revents) {
      char packet[64] = {};
      const ssize_t got = recv(control, packet, sizeof packet - 1, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return 1;
      // To the payload's process group: a shell that wraps a program would otherwise keep the signal to
      // itself.
      if (got > 0 && strncmp(packet, "signal ", 7) == 0) kill(-payload, atoi(packet + 7));
    }
  }
}

}  // namespace

InitReport ParseInitReport(std::string_view packet) {
  InitReport report;
  if (packet == "started") report.kind = InitReport::Kind::kStarted;
  if (packet.starts_with("exit ")) report.kind = InitReport::Kind::kExit;
  if (packet.starts_with("fail ")) report.kind = InitReport::Kind::kFail;
  const size_t newline = packet.find('\n');
  if (newline != packet.npos) {
    report.number = atoi(std::string(packet.substr(5, newline - 5)).c_str());
    report.text = packet.substr(newline + 1);
  }
  return report;
}

int RunPodInit(int argc, char** argv) {
  if (argc < 4) return 2;
  const int control = atoi(argv[0]);
  const std::string folder = argv[1];
  const rlim_t memory = strtoull(argv[2], nullptr, 10);
  char** const payload_argv = argv + 3;
  // The payload may not trace process 1 or reach its descriptors, and inherits none of them.
  prctl(PR_SET_DUMPABLE, 0);
  fcntl(control, F_SETFD, FD_CLOEXEC);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  const int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (const char* home = getenv("HOME")) MakeFolders(home);
  MakeFolders(folder);
  if (chdir(folder.c_str()) != 0) {
    Send(control, "fail " + std::to_string(errno) + "\n" + "its working folder " + folder);
    return 126;
  }
  int failure = 0;
  const pid_t payload = StartPayload(payload_argv, memory, failure);
  if (payload < 0 || failure != 0) {
    Send(control, "fail " + std::to_string(payload < 0 ? errno : failure) + "\n" + payload_argv[0]);
    return 127;
  }
  Send(control, "started");
  return Serve(control, signals, payload);
}

}  // namespace cubeplane::engine::node
