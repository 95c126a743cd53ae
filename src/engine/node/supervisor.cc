#include "engine/node/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "engine/node/log_file.h"
#include "engine/node/network.h"
#include "engine/node/payload.h"
#include "engine/node/pod_setup.h"
#include "engine/node/probe.h"
#include "engine/node/spec.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

constexpr size_t kMaxNodes = 8;
constexpr Duration kRestartMin = std::chrono::seconds(1);
constexpr Duration kRestartMax = std::chrono::minutes(5);
constexpr Duration kRestartForget = std::chrono::minutes(10);  // a run of this length clears the back-off
constexpr Duration kAddressCheck = std::chrono::seconds(10);
constexpr Duration kNetworkRetry = std::chrono::seconds(2);
constexpr const char* kOutOfMemory = "was killed: it used more than its memory limit";
constexpr Duration kReapWait = std::chrono::seconds(1);
constexpr size_t kReadBytes = 64u << 10;

// When each of the supervisor's timers is due.
struct Timers {
  std::optional<Mono> kill, restart, probe, addresses, network, log;
  Mono Next(Mono fallback) const {
    for (const auto& timer : {kill, restart, probe, addresses, network, log}) {
      if (timer) fallback = std::min(fallback, *timer);
    }
    return fallback;
  }
};

bool Due(std::optional<Mono>& timer, Mono now) {
  if (!timer || now < *timer) return false;
  timer.reset();
  return true;
}

class Supervisor {
 public:
  Supervisor(PodFile pod, Fd folder)
      : pod_(std::move(pod)),
        folder_(std::move(folder)),
        payload_group_(PayloadCgroup(pod_.node, pod_.run.uid)),
        helper_group_(HelperCgroup(pod_.node, pod_.run.uid)),
        log_(clock_, folder_.get(), pod_.node.reader),
        network_([this](pid_t pid) { return helper_group_.Add(pid); }) {
    state_.uid = pod_.run.uid;
  }

  // Everything that can refuse the pod for good.
  Result<void> Prepare() {
    ASSIGN_OR_RETURN(resources_, PreparePod(pod_, folder_.get()));
    RETURN_IF_ERROR(CreateCgroups(pod_, payload_group_, helper_group_));
    RETURN_IF_ERROR(helper_group_.Add(getpid()));
    sigset_t set;
    sigemptyset(&set);
    // PIPE too: a node that dies while this pod starts must not take it along.
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return Fail(SysError("preparing for signals"));
    if (pod_.run.door) state_.door_socket = DoorSocket(pod_.node, pod_.run.uid);
    return Save(false);
  }

  int Run() {
    Begin();
    while (!finished_) Step();
    return 0;
  }

 private:
  // ---- start

  void Begin() {
    NetworkPlan plan{pod_.run.tenant.uid, std::move(resources_.door_listener), 0, "",
                     pod_.node.outbound_allow};
    if (pod_.run.door) {
      plan.door_port = pod_.run.door->port;
      plan.door_secret = pod_.run.door->secret;
    }
    if (auto begun = network_.Begin(std::move(plan)); !begun) return Finish(128, begun.error().message);
    ConnectOut();
    timers_.addresses = clock_.MonoNow() + kAddressCheck;
    StartPayloadNow();
  }

  void ConnectOut() {
    auto connected = network_.ConnectOut();
    if (connected) return;
    Note("no way out of the pod's network: " + connected.error().message);
  }

  void StartPayloadNow() {
    oom_before_ = payload_group_.OomKills();
    auto started = StartPayload(pod_, network_, [this](pid_t pid) { return payload_group_.Add(pid); });
    if (!started) return Finish(128, started.error().message);
    payload_ = std::move(*started);
  }

  // ---- one turn of the loop

  void Step() {
    const size_t allowance = log_.Allowance();
    timers_.log = allowance ? std::nullopt : std::optional(log_.RefillAt());
    std::vector<pollfd> polls = {{signals_.get(), POLLIN, 0},
                                 {resources_.control_listener.get(), POLLIN, 0},
                                 {payload_ ? payload_->control.get() : -1, POLLIN, 0},
                                 {payload_ && allowance ? payload_->out.get() : -1, POLLIN, 0},
                                 {payload_ && allowance ? payload_->err.get() : -1, POLLIN, 0},
                                 {probe_ ? probe_->fd() : -1, probe_ ? probe_->events() : short{0}, 0}};
    const size_t fixed = polls.size();
    for (const Fd& node : nodes_) polls.push_back({node.get(), POLLIN, 0});
    const Mono now = clock_.MonoNow();
    Mono next = timers_.Next(now + std::chrono::minutes(1));
    if (probe_) next = std::min(next, probe_->deadline());
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now, Duration(0)));
    if (poll(polls.data(), polls.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) abort();

    if (polls[3].revents) ReadLog(payload_->out, LogFile::kStdout, allowance);
    if (polls[4].revents) ReadLog(payload_->err, LogFile::kStderr, allowance);
    if (polls[2].revents) ReadControl();
    if (polls[5].revents && probe_) probe_->OnEvent();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (polls[fixed + i].revents) ReadNode(nodes_[i]);
    }
    std::erase_if(nodes_, [](const Fd& node) { return !node; });
    if (polls[1].revents) AcceptNode();
    if (polls[0].revents) OnSignals();
    if (!finished_) OnTimers(clock_.MonoNow());
  }

  void OnTimers(Mono now) {
    if (probe_ && !probe_->result() && now >= probe_->deadline()) probe_->Expire();
    if (probe_ && probe_->result()) OnProbe(*probe_->result(), now);
    if (Due(timers_.probe, now)) StartProbe(now);
    if (Due(timers_.kill, now)) KillPayload();
    if (Due(timers_.network, now)) ConnectOut();
    if (Due(timers_.addresses, now)) {
      timers_.addresses = now + kAddressCheck;
      if (auto refreshed = network_.RefreshFirewall(); !refreshed) Note(refreshed.error().message);
    }
    if (Due(timers_.restart, now)) StartPayloadNow();
  }

  void OnSignals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGTERM) RequestStop(pod_.run.grace);
    }
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      if (payload_ && pid == payload_->pid) {
        OnPayloadEnd();
      } else if (network_.LostWayOut(pid)) {
        timers_.network = clock_.MonoNow() + kNetworkRetry;
      } else if (network_.LostDoor(pid) && !finished_) {
        KillPayload();
        Finish(137, "the pod's door ended, and with it the pod's network");
      }
      if (finished_) return;
    }
  }

  // ---- the payload

  void ReadLog(Fd& pipe, LogFile::Stream stream, size_t allowance) {
    char buffer[kReadBytes];
    const ssize_t got = read(pipe.get(), buffer, std::min(sizeof buffer, allowance));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) return log_.Append(stream, std::string_view(buffer, static_cast<size_t>(got)));
    log_.Flush(stream);
    pipe.Reset();
  }

  // What still lies in the pipes when the sandbox has ended: a pipe's worth at most.
  void DrainLog() {
    for (auto [pipe, stream] :
         {std::pair{&payload_->out, LogFile::kStdout}, {&payload_->err, LogFile::kStderr}}) {
      char buffer[kReadBytes];
      size_t total = 0;
      for (ssize_t got = 1; *pipe && got > 0 && total < (1u << 20);
           total += static_cast<size_t>(std::max<ssize_t>(got, 0))) {
        got = read(pipe->get(), buffer, sizeof buffer);
        if (got > 0) log_.Append(stream, std::string_view(buffer, static_cast<size_t>(got)));
      }
      log_.Flush(stream);
    }
  }

  void ReadControl() {
    if (!payload_->ReadControl()) return;
    state_.phase = PodPhase::kRunning;
    state_.started_at = clock_.Now();
    running_since_ = clock_.MonoNow();
    state_.message.clear();
    state_.ready = !pod_.run.readiness;
    if (pod_.run.readiness) timers_.probe = clock_.MonoNow();
    Changed(false);
  }

  void KillPayload() {
    if (!payload_) return;
    killed_ = true;
    kill(payload_->pid, SIGKILL);
    payload_group_.Kill();
  }

  void OnPayloadEnd() {
    payload_->ReadControl();
    DrainLog();
    payload_group_.Kill();
    const InitReport report = payload_->report;
    const bool started = payload_->started;
    payload_.reset();
    probe_.reset();
    timers_.probe.reset();
    timers_.kill.reset();
    state_.oom_killed = payload_group_.OomKills() > oom_before_;
    Describe(report, started);
    if (pod_.run.restart && !stopping_) return ScheduleRestart();
    Finish(state_.exit_code, state_.message);
  }

  // Exit code, signal and message of the run that has ended.
  void Describe(const InitReport& report, bool started) {
    state_.signal = 0;
    state_.message = report.text;
    switch (report.kind) {
      case InitReport::Kind::kExit:
        state_.signal = WIFSIGNALED(report.number) ? WTERMSIG(report.number) : 0;
        state_.exit_code = state_.signal ? 128 + state_.signal : WEXITSTATUS(report.number);
        if (state_.oom_killed && state_.message.empty()) state_.message = kOutOfMemory;
        return;
      case InitReport::Kind::kFail:
        state_.exit_code = report.number == ENOENT ? 127 : 126;
        state_.message = report.number == ENOENT
                             ? "the environment lacks " + report.text
                             : "the environment cannot run " + report.text + ": " + strerror(report.number);
        return;
      default:
        state_.signal = started ? SIGKILL : 0;
        state_.exit_code = started ? 137 : 128;
        state_.message =
            started   ? (killed_ && stopping_ ? "did not end within its grace and was killed" : "was killed")
            : killed_ ? "was stopped before it had started"
                      : "the sandbox did not start: " + log_.last_error_line();
        if (state_.oom_killed) state_.message = kOutOfMemory;
    }
  }

  void ScheduleRestart() {
    const Mono now = clock_.MonoNow();
    if (running_since_ && now - *running_since_ >= kRestartForget) failures_ = 0;
    const Duration wait = std::min(kRestartMax, kRestartMin * (int64_t{1} << std::min(failures_, 20)));
    ++failures_;
    ++state_.restarts;
    running_since_.reset();
    killed_ = false;
    timers_.restart = now + wait;
    state_.phase = PodPhase::kStarting;
    state_.ready = false;
    state_.finished_at = clock_.Now();
    const std::string reason = state_.message.empty() ? "" : " (" + state_.message.substr(0, 512) + ")";
    state_.message = "ended with exit code " + std::to_string(state_.exit_code) + reason +
                     "; starts again in " + FormatDuration(wait);
    Changed(false);
  }

  void Finish(int exit_code, std::string message) {
    if (finished_) return;
    finished_ = true;
    network_.End();
    payload_group_.Kill();
    ReapAll();
    payload_group_.Remove();
    RemoveRunFolder(pod_.node, pod_.run.uid);
    state_.phase = PodPhase::kExited;
    state_.ready = false;
    state_.exit_code = exit_code;
    state_.message = message.substr(0, kMaxTerminationBytes);
    state_.finished_at = clock_.Now();
    state_.door_socket.clear();
    Changed(true);
  }

  // Every child has been killed by now; leaves no zombie to a machine whose process 1 does not care.
  void ReapAll() {
    const Mono until = clock_.MonoNow() + kReapWait;
    while (clock_.MonoNow() < until) {
      const pid_t pid = waitpid(-1, nullptr, WNOHANG);
      if (pid < 0) return;
      if (pid == 0) poll(nullptr, 0, 1);
    }
  }

  // ---- readiness

  void StartProbe(Mono now) {
    auto socket = network_.ProbeSocket();
    if (!socket) return OnProbe(false, now);
    probe_.emplace(std::move(*socket), *pod_.run.readiness, now);
  }

  void OnProbe(bool ready, Mono now) {
    probe_.reset();
    timers_.probe = now + pod_.run.readiness->period;
    probe_failures_ = ready ? 0 : probe_failures_ + 1;
    const bool before = state_.ready;
    if (ready) state_.ready = true;
    if (probe_failures_ >= pod_.run.readiness->failure_threshold) state_.ready = false;
    if (state_.ready != before) Changed(false);
  }

  // ---- the node

  void AcceptNode() {
    Fd node(accept4(resources_.control_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!node || nodes_.size() >= kMaxNodes) return;
    SendState(node);
    nodes_.push_back(std::move(node));
  }

  void ReadNode(Fd& node) {
    char packet[4096];
    const ssize_t got = recv(node.get(), packet, sizeof packet, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return node.Reset();
    const auto message = json::Parse(std::string_view(packet, static_cast<size_t>(got)));
    if (message && (*message)["op"].AsString() == "stop")
      RequestStop(Duration((*message)["graceNs"].AsInt()));
  }

  void RequestStop(Duration grace) {
    stopping_ = true;
    if (!payload_) return Finish(state_.exit_code, state_.message);
    payload_->Signal(SIGTERM);
    const Mono when = clock_.MonoNow() + grace;
    timers_.kill = timers_.kill ? std::min(*timers_.kill, when) : when;
  }

  void Changed(bool last) {
    // A full disk must not end the pod: the next change is written again, and the node hears of this one by
    // its socket.
    if (auto saved = Save(last); !saved) Note(saved.error().message);
    for (const Fd& node : nodes_) SendState(node);
  }

  void SendState(const Fd& node) {
    const std::string packet = json::Write(json::Object{{"protocol", kProtocol}, {"state", ToJson(state_)}});
    send(node.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  Result<void> Save(bool sync) {
    const SupervisorRecord record{getpid(), ProcessStart(getpid()), BootId(), state_};
    return WriteFileAt(folder_.get(), kRecordFile, json::Write(ToJson(record)), 0600, sync);
  }

  // A line of ours in the pod's log, where its owner looks.
  void Note(const std::string& text) { log_.Append(LogFile::kStderr, "cubeplane: " + text + "\n"); }

  SystemClock clock_;
  PodFile pod_;
  Fd folder_;
  Cgroup payload_group_, helper_group_;
  LogFile log_;
  PodNetwork network_;
  PodResources resources_;
  Fd signals_;
  std::vector<Fd> nodes_;
  std::optional<Payload> payload_;
  std::optional<Probe> probe_;
  Timers timers_;
  PodState state_;
  int64_t oom_before_ = 0;
  int failures_ = 0, probe_failures_ = 0;
  std::optional<Mono> running_since_;
  bool stopping_ = false, killed_ = false, finished_ = false;
};

int Refuse(int report, const Error& error) {
  BestEffort(WriteAll(report, json::Write(ToJson(error)) + "\n"));
  return 1;
}

}  // namespace

int RunSupervisor(int argc, char** argv) {
  if (argc != 2) return 2;
  Fd folder(atoi(argv[0])), report(atoi(argv[1]));
  fcntl(folder.get(), F_SETFD, FD_CLOEXEC);
  fcntl(report.get(), F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_NAME, "cubeplane-pod");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Best effort: only root may lower it. Children get the ordinary score back with their user id.
  BestEffort(WriteKernelFile("/proc/self/oom_score_adj", "-500"));

  const auto lock = OpenBeneath(folder.get(), kLockFile, O_RDWR | O_CREAT, 0600);
  if (!lock) return Refuse(report.get(), lock.error());
  if (!TryLock(lock->get()))
    return Refuse(report.get(), Error(Code::kAlreadyExists, "this pod has a supervisor already"));
  auto pod = LoadPodFile(folder.get());
  if (!pod) return Refuse(report.get(), pod.error());
  Supervisor supervisor(std::move(*pod), std::move(folder));
  if (auto prepared = supervisor.Prepare(); !prepared) return Refuse(report.get(), prepared.error());
  BestEffort(WriteAll(report.get(), "ok\n"));
  report.Reset();
  return supervisor.Run();
}

}  // namespace cubeplane::engine::node
