#include "engine/node/node.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>

#include "base/clock.h"
#include "engine/node/guarantees.h"
#include "engine/node/network.h"
#include "engine/node/node_setup.h"
#include "engine/node/pod_setup.h"
#include "engine/node/pod_store.h"
#include "engine/node/process.h"
#include "engine/node/spec.h"
#include "engine/node/sweep.h"
#include "engine/node/tenants.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

using json::Object;
using json::Value;

constexpr Duration kStartTimeout = std::chrono::seconds(20);
constexpr int kTickMs = 100;

struct ClientConnection {
  uint64_t number = 0;
  Fd fd;
  std::string in, out;
  bool greeted = false;
};

// A pod that is not over: its supervisor's socket, or none yet.
struct Pod {
  Fd control;
  PodState state;
};

// A start whose supervisor has not reported yet.
struct PendingStart {
  Fd report;
  std::string text;
  std::vector<std::pair<uint64_t, Value>> waiters;  // client and request: a start that is repeated waits too
  Mono deadline;
};

bool Over(const PodState& state) {
  return state.phase == PodPhase::kExited || state.phase == PodPhase::kLost;
}

// Starts the supervisor as a grandchild, which so belongs to nobody here, in a session of its own.
Result<Fd> LaunchSupervisor(const std::string& binary, const Fd& folder) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return Fail(SysError("making a pipe"));
  Fd read_end(report[0]);
  const Fd write_end(report[1]);
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const auto nowhere = [](pid_t) { return Result<void>(); };
  const auto body = [&]() -> int {
    setsid();
    if (fork() != 0) return 0;
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    KeepOnly({folder.get(), write_end.get()});
    (void)chdir("/");
    return ChildFailed(
        Exec(binary, {"supervisor", std::to_string(folder.get()), std::to_string(write_end.get())}));
  };
  ASSIGN_OR_RETURN(const pid_t child, SpawnChild(nowhere, body));
  waitpid(child, nullptr, 0);
  return read_end;
}

class Node {
 public:
  Node(NodeOptions options, NodeFolders folders, Fd listener, Fd signals)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        signals_(std::move(signals)),
        lock_(std::move(folders.lock)),
        tenants_(options_, std::move(folders.projects)),
        store_(options_.config, std::move(folders.pods)) {}

  // Finds again what an earlier node started.
  void Recover() {
    store_.RemoveOldBinaries();
    for (const std::string& uid : store_.List()) {
      if (auto record = store_.Read(uid)) pods_[uid].state = record->state;
      pods_[uid].state.uid = uid;
      if (store_.HasSupervisor(uid)) {
        Attach(uid);
      } else {
        SettleDead(uid);
      }
    }
  }

  void Run() {
    while (!finished_) Step();
  }
  bool end_instance() const { return end_instance_; }

 private:
  // ---- the loop

  void Step() {
    std::vector<pollfd> polls = {{signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const ClientConnection& client : clients_) {
      polls.push_back({client.fd.get(), static_cast<short>(POLLIN | (client.out.empty() ? 0 : POLLOUT)), 0});
    }
    std::vector<std::string> starting, attached;
    bool waiting = !starts_.empty();
    for (const auto& [uid, start] : starts_) {
      starting.push_back(uid);
      polls.push_back({start.report.get(), POLLIN, 0});
    }
    for (const auto& [uid, pod] : pods_) {
      if (!pod.control) {
        waiting = waiting || !Over(pod.state);
        continue;
      }
      attached.push_back(uid);
      polls.push_back({pod.control.get(), POLLIN, 0});
    }
    if (poll(polls.data(), polls.size(), waiting ? kTickMs : -1) < 0 && errno != EINTR) abort();

    size_t at = 2;
    for (ClientConnection& client : clients_) {
      const short events = polls[at++].revents;
      if (events & POLLOUT) Flush(client);
      if (events & (POLLIN | POLLHUP | POLLERR)) ReadClient(client);
    }
    for (const std::string& uid : starting) {
      if (polls[at++].revents) ReadReport(uid);
    }
    for (const std::string& uid : attached) {
      if (polls[at++].revents) ReadSupervisor(uid);
    }
    clients_.remove_if([](const ClientConnection& client) { return !client.fd; });
    if (polls[1].revents) Accept();
    if (polls[0].revents) OnSignals();
    if (waiting) Tick();
  }

  // Supervisors come to this process when their first parent has gone (it is their subreaper), so that none
  // stays a zombie.
  void OnSignals() {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) finished_ = true;
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  // Supervisors that were not to be reached yet, and starts that never answered.
  void Tick() {
    const Mono now = clock_.MonoNow();
    std::vector<std::string> late, lonely;
    for (const auto& [uid, start] : starts_) {
      if (now >= start.deadline) late.push_back(uid);
    }
    for (const auto& [uid, pod] : pods_) {
      if (!pod.control && !Over(pod.state) && !starts_.contains(uid)) lonely.push_back(uid);
    }
    for (const std::string& uid : late)
      FailStart(uid, Error(Code::kTimeout, "the pod's supervisor did not report in 20 s"));
    for (const std::string& uid : lonely) {
      if (!Attach(uid) && !store_.HasSupervisor(uid)) SettleDead(uid);
    }
  }

  // ---- supervisors

  bool Attach(const std::string& uid) {
    auto control = ConnectUnix(ControlSocket(store_.node(), uid), SOCK_SEQPACKET);
    if (!control) return false;
    fcntl(control->get(), F_SETFL, O_NONBLOCK);
    pods_[uid].control = std::move(*control);
    return true;
  }

  void ReadSupervisor(const std::string& uid) {
    Pod& pod = pods_[uid];
    std::string packet(64u << 10, '\0');
    for (;;) {
      const ssize_t got = recv(pod.control.get(), packet.data(), packet.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got <= 0) break;
      const auto message = json::Parse(std::string_view(packet).substr(0, static_cast<size_t>(got)));
      if (!message) continue;
      const PodState state = PodStateFromJson((*message)["state"]);
      // The last word of a supervisor is told once its groups are gone too.
      if (!Over(state)) SetState(uid, state);
    }
    pod.control.Reset();
    SettleDead(uid);
  }

  // For a pod whose supervisor has ended, or is about to have (its socket is closed already).
  void SettleDead(const std::string& uid) {
    auto state = store_.Reap(uid);
    if (state) SetState(uid, *state);
  }

  void SetState(const std::string& uid, const PodState& state) {
    pods_[uid].state = state;
    const std::string line = StateLine(state);
    for (ClientConnection& client : clients_) {
      if (client.greeted) Queue(client, line);
    }
  }

  static std::string StateLine(const PodState& state) {
    return json::Write(Object{{"event", "state"}, {"state", ToJson(state)}}) + "\n";
  }

  // ---- starts

  Result<void> BeginStart(const ClientConnection& client, const Value& request) {
    PodFile pod{store_.node(), {}};
    ASSIGN_OR_RETURN(pod.run, PodRunFromJson(request["run"]));
    RETURN_IF_ERROR(CheckRun(pod.run));
    // Who the tenant is, is the node's to say: an unprivileged caller chooses no user id and no folder.
    ASSIGN_OR_RETURN(pod.run.tenant, tenants_.Ensure(pod.run.tenant.id));
    if (pods_.size() >= kMaxPods)
      return Fail(Code::kTooMany, "there are 10000 pods on this node: remove some");
    ASSIGN_OR_RETURN(const Fd folder, store_.Create(pod));
    auto report = LaunchSupervisor(store_.node().binary, folder);
    if (!report) {
      BestEffort(store_.Remove(pod.run.uid, false));
      return Fail(report.error());
    }
    pods_[pod.run.uid].state.uid = pod.run.uid;
    starts_[pod.run.uid] = {
        std::move(*report), "", {{client.number, request["id"]}}, clock_.MonoNow() + kStartTimeout};
    return {};
  }

  void ReadReport(const std::string& uid) {
    PendingStart& start = starts_[uid];
    char buffer[8192];
    const ssize_t got = read(start.report.get(), buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) start.text.append(buffer, static_cast<size_t>(got));
    const bool whole = start.text.ends_with('\n') || start.text.size() > (256u << 10);
    if (got > 0 && !whole) return;
    if (start.text == "ok\n") {
      for (const auto& [number, id] : start.waiters) Reply(number, id, Object{});
      starts_.erase(uid);
      Attach(uid);
      return;
    }
    const auto error = json::Parse(start.text);
    FailStart(uid, error && error->IsObject()
                       ? ErrorFromJson(*error)
                       : Error(Code::kUnavailable, "the pod's supervisor ended at its start"));
  }

  void FailStart(const std::string& uid, const Error& error) {
    const PendingStart start = std::move(starts_[uid]);
    starts_.erase(uid);
    pods_.erase(uid);
    auto removed = store_.Remove(uid, false);
    const Error& reason = removed ? error : removed.error();
    for (const auto& [number, id] : start.waiters) Refuse(number, id, reason);
  }

  // ---- clients

  void Accept() {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!fd || getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    const bool known = peer.uid == geteuid() || peer.uid == store_.node().reader || peer.uid == 0;
    if (!known || clients_.size() >= kMaxClients) return;
    ClientConnection client;
    client.number = ++last_client_;
    client.fd = std::move(fd);
    clients_.push_back(std::move(client));
  }

  void ReadClient(ClientConnection& client) {
    char buffer[64u << 10];
    const ssize_t got = recv(client.fd.get(), buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return client.fd.Reset();
    client.in.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = client.in.find('\n'); end != std::string::npos; end = client.in.find('\n', begin)) {
      OnLine(client, std::string_view(client.in).substr(begin, end - begin));
      begin = end + 1;
    }
    client.in.erase(0, begin);
    if (client.in.size() > kMaxLineBytes) client.fd.Reset();
  }

  void OnLine(ClientConnection& client, std::string_view line) {
    const auto request = json::Parse(line);
    if (!request) return Refuse(client.number, Value(), request.error());
    const Value& id = (*request)["id"];
    const std::string& op = (*request)["op"].AsString();
    if (op == "hello") return Greet(client, *request);
    if (!client.greeted)
      return Refuse(client.number, id, Error(Code::kBadRequest, "the first line must be a hello"));
    if (op == "start") {
      const std::string& uid = (*request)["run"]["uid"].AsString();
      if (const auto start = starts_.find(uid); start != starts_.end()) {
        start->second.waiters.emplace_back(client.number, id);
        return;
      }
      if (store_.Exists(uid)) return Reply(client.number, id, Object{});
      if (auto begun = BeginStart(client, *request); !begun) Refuse(client.number, id, begun.error());
      return;
    }
    auto answer = Do(op, *request);
    if (!answer) return Refuse(client.number, id, answer.error());
    Reply(client.number, id, std::move(*answer));
  }

  void Greet(ClientConnection& client, const Value& request) {
    const int64_t theirs = request["protocol"].AsInt();
    if (theirs < kProtocol - 1 || theirs < 1) {
      return Refuse(client.number, request["id"],
                    Error(Code::kUnsupported, "this node speaks protocol " + std::to_string(kProtocol) +
                                                  " and the one before, not " + std::to_string(theirs)));
    }
    Reply(client.number, request["id"],
          Object{{"protocol", kProtocol},
                 {"data", store_.node().data},
                 {"root", geteuid() == 0},
                 {"guarantees", ToJson(Guarantees())}});
    client.greeted = true;
    for (const auto& [uid, pod] : pods_) {
      if (!starts_.contains(uid)) Queue(client, StateLine(pod.state));
    }
  }

  Result<Object> Do(const std::string& op, const Value& request) {
    const std::string& uid = request["uid"].AsString();
    if (op == "ensureTenant") {
      ASSIGN_OR_RETURN(const Tenant tenant, tenants_.Ensure(request["tenant"].AsString()));
      return Object{{"tenant", ToJson(tenant)}};
    }
    if (op == "list") {
      json::Array states;
      for (const auto& [name, pod] : pods_) {
        if (!starts_.contains(name)) states.push_back(ToJson(pod.state));
      }
      return Object{{"states", states}};
    }
    if (op == "stop") {
      RETURN_IF_ERROR(Stop(uid, request["graceNs"].AsInt()));
      return Object{};
    }
    if (op == "remove") {
      RETURN_IF_ERROR(Remove(uid, request["keepLog"].AsBool()));
      return Object{};
    }
    if (op == "end") {
      finished_ = end_instance_ = true;
      return Object{};
    }
    return Fail(Code::kBadRequest, "unknown operation '" + op.substr(0, 50) + "'");
  }

  Result<void> Stop(const std::string& uid, int64_t grace_ns) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || Over(found->second.state)) return {};
    if (!found->second.control)
      return Fail(Code::kUnavailable, "the supervisor of pod " + uid + " cannot be reached yet");
    const std::string packet =
        json::Write(Object{{"op", "stop"}, {"graceNs", std::max<int64_t>(0, grace_ns)}});
    // A supervisor that has just ended has its end on the way to us.
    if (send(found->second.control.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0 &&
        errno == EAGAIN) {
      return Fail(Code::kUnavailable, "the supervisor of pod " + uid + " does not listen");
    }
    return {};
  }

  Result<void> Remove(const std::string& uid, bool keep_log) {
    if (starts_.contains(uid))
      FailStart(uid, Error(Code::kCancelled, "the pod was removed while it started"));
    RETURN_IF_ERROR(store_.Remove(uid, keep_log));
    pods_.erase(uid);
    return {};
  }

  void Reply(uint64_t number, const Value& id, Object answer) {
    answer.Set("id", id);
    answer.Set("ok", true);
    Send(number, answer);
  }
  void Refuse(uint64_t number, const Value& id, const Error& error) {
    Send(number, Object{{"id", id}, {"error", ToJson(error)}});
  }
  void Send(uint64_t number, const Object& message) {
    for (ClientConnection& client : clients_) {
      if (client.number == number && client.fd) Queue(client, json::Write(message) + "\n");
    }
  }
  void Queue(ClientConnection& client, const std::string& line) {
    if (!client.fd) return;
    client.out += line;
    Flush(client);
    if (client.out.size() > kMaxOutBytes) client.fd.Reset();
  }
  void Flush(ClientConnection& client) {
    while (client.fd && !client.out.empty()) {
      const ssize_t sent = send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) client.fd.Reset();
      if (sent <= 0) return;
      client.out.erase(0, static_cast<size_t>(sent));
    }
  }

  const NodeOptions options_;
  SystemClock clock_;
  Fd listener_, signals_, lock_;
  Tenants tenants_;
  PodStore store_;
  std::list<ClientConnection> clients_;
  std::map<std::string, Pod> pods_;
  std::map<std::string, PendingStart> starts_;
  uint64_t last_client_ = 0;
  bool finished_ = false, end_instance_ = false;
};

Result<Fd> SignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return Fail(SysError("preparing for signals"));
  return fd;
}

}  // namespace

Result<void> RunNode(NodeOptions options) {
  ASSIGN_OR_RETURN(NodeFolders folders, SetUpNode(options.config));
  for (const std::string& network : options.config.outbound_allow) {
    if (!IsIpv4Network(network)) {
      return Fail(Code::kInvalid,
                  "--outbound-allow " + network + ": an IPv4 network such as 10.1.0.0/16 is allowed");
    }
  }
  ASSIGN_OR_RETURN(Fd signals, SignalFd());
  ASSIGN_OR_RETURN(Fd listener, ListenUnix(options.socket, SOCK_STREAM, options.config.reader));
  const std::string data = options.config.data, socket = options.socket;
  bool end_instance = false;
  {
    Node node(std::move(options), std::move(folders), std::move(listener), std::move(signals));
    node.Recover();
    node.Run();
    end_instance = node.end_instance();
  }
  unlink(socket.c_str());
  return end_instance ? SweepInstance(data) : Result<void>();
}

}  // namespace cubeplane::engine::node
