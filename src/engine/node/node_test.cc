// The node process: finding pods again, what is left after kills, walls between pods, who may talk to it, and
// the end.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/node/cgroup.h"
#include "engine/node/network.h"
#include "engine/node/sweep.h"
#include "engine/node/testing/harness.h"

namespace cubeplane::engine::node {
namespace {

using std::chrono::seconds;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string Mark() { return "sleep 97" + std::to_string(getpid()); }

std::vector<std::string> LeftOver(const RealHarness& node, const std::string& instance) {
  std::vector<std::string> left = ListCgroups(instance);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(node.folder() + "/run", none)) {
    left.push_back(entry.path());
  }
  if (AnyProcessWith(Mark())) left.push_back("a payload");
  if (AnyProcessWith(node.folder())) left.push_back("a process of the node");
  return left;
}

TEST(Node, FindsPodsAgainAfterKillNine) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", "while true; do date +%s%N; sleep 0.05; done")));
  ASSERT_TRUE(node.Start(ShellPod("q", "sleep 0.6; exit 7")));
  const PodState before = node.WaitForPhase("p", PodPhase::kRunning);
  node.WaitForPhase("q", PodPhase::kRunning);
  const pid_t supervisor = node.SupervisorPid("p");
  node.KillNode(SIGKILL);
  const size_t size = node.RawLog("p").size();
  usleep(800'000);
  EXPECT_GT(node.RawLog("p").size(), size) << "the pod must go on without a node";
  node.StartNode();
  node.RestartUser();
  const PodState after = node.WaitForPhase("p", PodPhase::kRunning);
  EXPECT_EQ(after.started_at, before.started_at);
  EXPECT_EQ(after.restarts, 0);
  EXPECT_EQ(node.SupervisorPid("p"), supervisor);
  EXPECT_EQ(node.WaitForPhase("q", PodPhase::kExited).exit_code, 7);
  // And it is ours again: it can be stopped.
  ASSERT_TRUE(node.Stop("p", seconds(5)));
  EXPECT_EQ(node.WaitForPhase("p", PodPhase::kExited).exit_code, 143);
}

TEST(Node, AClientReconnectsByItself) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", "sleep 100")));
  node.WaitForPhase("p", PodPhase::kRunning);
  const size_t told = node.Told("p").size();
  node.KillNode(SIGTERM);
  EXPECT_EQ(node.List().error().code, Code::kUnavailable);
  node.StartNode();
  node.WaitFor("p", [&](const PodState&) { return node.Told("p").size() > told; });
  EXPECT_EQ(node.Told("p").back().phase, PodPhase::kRunning);
}

TEST(Node, KilledSupervisorTakesItsTreeAlong) {
  RealHarness node;
  PodRun run = ShellPod("p", "(" + Mark() + ") & setsid " + Mark() + " & " + Mark());
  run.door = Door{8000, "0123456789abcdef"};
  ASSERT_TRUE(node.Start(run));
  node.WaitForPhase("p", PodPhase::kRunning);
  for (int i = 0; i < 100 && !AnyProcessWith(Mark()); ++i) usleep(10'000);
  ASSERT_TRUE(AnyProcessWith(Mark()));
  node.KillSupervisor("p");
  // The kernel alone does it, and fast; the node then takes away what stays on disk.
  for (int i = 0; i < 50 && AnyProcessWith(Mark()); ++i) usleep(10'000);
  EXPECT_FALSE(AnyProcessWith(Mark()));
  node.WaitForPhase("p", PodPhase::kLost);
  EXPECT_TRUE(ListCgroups(node.instance()).empty());
  EXPECT_FALSE(std::filesystem::exists(node.folder() + "/run/pods/p"));
}

TEST(Node, SupervisorKilledWhileNoNodeWasThereIsLostToo) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", Mark())));
  node.WaitForPhase("p", PodPhase::kRunning);
  const pid_t supervisor = node.SupervisorPid("p");
  node.KillNode(SIGKILL);
  kill(supervisor, SIGKILL);
  usleep(100'000);
  EXPECT_FALSE(AnyProcessWith(Mark()));
  node.StartNode();
  node.RestartUser();
  EXPECT_EQ(node.WaitForPhase("p", PodPhase::kLost).exit_code, 137);
}

TEST(Node, AWayOutThatDiesComesBackAndThePodStays) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", "sleep 100")));
  node.WaitForPhase("p", PodPhase::kRunning);
  Cgroup helpers(node.instance(), "p.helpers");
  const auto slirp = [&]() -> pid_t {
    for (const pid_t pid : helpers.Pids()) {
      if (Contains(ReadKernelFile("/proc/" + std::to_string(pid) + "/comm"), "slirp4netns")) return pid;
    }
    return 0;
  };
  const pid_t first = slirp();
  ASSERT_NE(first, 0);
  kill(first, SIGKILL);
  pid_t second = first;
  for (int i = 0; i < 500 && (second == first || second == 0); ++i) {
    usleep(10'000);
    second = slirp();
  }
  EXPECT_NE(second, first);
  EXPECT_NE(second, 0);
  EXPECT_EQ(node.List()->at(0).phase, PodPhase::kRunning);
}

TEST(Node, EndLeavesNothing) {
  RealHarness node;
  for (const std::string uid : {"p", "q"}) {
    PodRun run = ShellPod(uid, Mark());
    run.door = Door{8000, "0123456789abcdef"};
    ASSERT_TRUE(node.Start(run));
    node.WaitForPhase(uid, PodPhase::kRunning);
  }
  const std::string instance = node.instance();
  EXPECT_EQ(ListCgroups(instance).size(), 4u);
  ASSERT_TRUE(node.EndInstance());
  int status = 0;
  waitpid(node.node_pid(), &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(LeftOver(node, instance), std::vector<std::string>());
  EXPECT_FALSE(std::filesystem::exists(node.folder() + "/node.sock"));
}

TEST(Node, SweepEndsANodeAndItsPodsFromOutside) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", Mark())));
  node.WaitForPhase("p", PodPhase::kRunning);
  const std::string instance = node.instance();
  const auto swept = SweepInstance(node.data());
  ASSERT_TRUE(swept) << swept.error().message;
  node.KillNode(SIGKILL);
  EXPECT_EQ(LeftOver(node, instance), std::vector<std::string>());
}

TEST(Node, RefusesASecondNodeOnTheSameData) {
  RealHarness node;
  const std::string command = "/proc/self/exe";
  const pid_t second = fork();
  if (second == 0) {
    const std::string data = node.data(), run = node.folder() + "/run",
                      socket = node.folder() + "/second.sock";
    execl(command.c_str(), command.c_str(), "node", "--socket", socket.c_str(), "--data", data.c_str(),
          "--run", run.c_str(), nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(second, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(node.List());
}

TEST(Node, TwoStartsAtOnceAreOnePod) {
  RealHarness node;
  for (int i = 0; i < 5; ++i) {
    const std::string uid = "p" + std::to_string(i);
    const auto results = node.StartTwice(ShellPod(uid, "sleep 100"));
    EXPECT_TRUE(results.first) << results.first.error().message;
    EXPECT_TRUE(results.second) << results.second.error().message;
  }
  EXPECT_EQ(node.List()->size(), 5u);
}

TEST(Node, KeepsOnlyTheProgramsThatPodsRun) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", "sleep 100")));
  node.WaitForPhase("p", PodPhase::kRunning);
  node.KillNode(SIGTERM);
  const auto bin = OpenDir(node.data() + "/bin");
  ASSERT_TRUE(WriteFileAt(bin->get(), "cubeplane-000000000000", "old", 0755, false));
  EXPECT_EQ(ListDir(bin->get()).size(), 2u);
  node.StartNode();
  node.RestartUser();
  EXPECT_EQ(ListDir(bin->get()).size(), 1u);
}

TEST(Node, RemoveKeepsTheLogWhenAsked) {
  RealHarness node;
  node.Output(ShellPod("p", "echo kept"));
  ASSERT_TRUE(node.Remove("p", true));
  EXPECT_TRUE(node.List()->empty());
  EXPECT_TRUE(Contains(node.Log("p"), "kept"));
  ASSERT_TRUE(node.Remove("p", false));
  EXPECT_FALSE(std::filesystem::exists(node.data() + "/pods/p"));
}

TEST(Node, TalksToItsUserOnly) {
  RealHarness node(0, {"--allow-uid", "12345"});
  const auto connects = [&](uid_t uid) {
    const pid_t child = fork();
    if (child == 0) {
      // The file mode keeps strangers out; a stranger who got the socket's descriptor is refused by the node
      // itself.
      auto connection = ConnectUnix(node.folder() + "/node.sock", SOCK_STREAM);
      if (setuid(uid) != 0) _exit(9);
      if (uid != 0) connection = ConnectUnix(node.folder() + "/node.sock", SOCK_STREAM);
      if (!connection) _exit(1);
      signal(SIGPIPE, SIG_IGN);
      const std::string hello = "{\"id\":1,\"op\":\"hello\",\"protocol\":1}\n";
      char answer[8192];
      if (!WriteAll(connection->get(), hello)) _exit(1);
      _exit(recv(connection->get(), answer, sizeof answer, 0) > 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(connects(12345), 0);
  EXPECT_EQ(connects(54321), 1);
  ASSERT_EQ(chmod((node.folder() + "/node.sock").c_str(), 0666), 0);
  EXPECT_EQ(connects(54321), 1);
}

TEST(Node, LogsAndDoorsAreTheControlPlanesToRead) {
  RealHarness node(0, {"--allow-uid", "12345"});
  PodRun run = ShellPod("p", "echo mine; sleep 100");
  run.door = Door{8000, "0123456789abcdef"};
  ASSERT_TRUE(node.Start(run));
  const PodState running = node.WaitForPhase("p", PodPhase::kRunning);
  for (int i = 0; i < 100 && !Contains(node.RawLog("p"), "mine"); ++i) usleep(10'000);
  const auto as = [&](uid_t uid) {
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(uid) != 0) _exit(9);
      const bool log = access((node.data() + "/pods/p/log").c_str(), R_OK) == 0;
      const bool door = static_cast<bool>(ConnectUnix(running.door_socket, SOCK_STREAM));
      const bool secret = access((node.data() + "/pods/p/run.json").c_str(), R_OK) == 0;
      _exit((log ? 1 : 0) | (door ? 2 : 0) | (secret ? 4 : 0));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(as(12345), 3);
  EXPECT_EQ(as(54321), 0);
  EXPECT_EQ(as(node.EnsureTenant("t1")->uid), 0) << "nor may a tenant who got out of the sandbox";
}

// ---- walls

TEST(Walls, PodsOfTwoTenantsDoNotMeet) {
  RealHarness node;
  PodRun victim =
      ShellPod("victim",
               "echo private > /data/secret; chmod 666 /data/secret; exec python3 -m http.server 8123", "t1");
  victim.door = Door{8123, "0123456789abcdef"};
  ASSERT_TRUE(node.Start(victim));
  node.WaitForPhase("victim", PodPhase::kRunning);
  const std::string root = node.folder();
  const std::string out = node.Output(
      ShellPod("attacker",
               "cat " + root + "/data/projects/t1/secret /data/../../t1/secret 2>&1; ls " + root +
                   " 2>&1\n"
                   "ls /proc | grep -E '^[0-9]+$' | tr '\\n' ' '; echo\n"
                   "for p in 1 2 3 100 1000 " +
                   std::to_string(node.SupervisorPid("victim")) +
                   "; do kill -0 $p 2>/dev/null && echo signalled $p $(cat /proc/$p/comm); done\n"
                   "python3 -c \"\nimport socket\n"
                   "for host, port in (('127.0.0.1', 8123), ('10.0.2.2', 8123), ('10.0.2.100', 8123)):\n"
                   "  s = socket.socket(); s.settimeout(2)\n"
                   "  try: s.connect((host, port)); print('connected', host)\n"
                   "  except OSError as e: print('no', host)\n\"\n"
                   "ls -la /run/*; cat /proc/net/unix | grep -c " +
                   root + "\n",
               "t2"));
  EXPECT_FALSE(Contains(out, "private")) << out;
  EXPECT_FALSE(Contains(out, "connected")) << out;
  EXPECT_TRUE(Contains(out, "no 127.0.0.1")) << out;
  EXPECT_FALSE(Contains(out, "signalled 1000")) << out;
  EXPECT_FALSE(Contains(out, "signalled " + std::to_string(node.SupervisorPid("victim")))) << out;
  EXPECT_TRUE(Contains(out, "\n0\n")) << out;
}

// Even outside of its sandbox, a tenant's user id opens nothing of another tenant.
TEST(Walls, AnEscapedTenantReadsNothingOfAnother) {
  RealHarness node;
  node.Output(ShellPod("p", "echo private > /data/secret; chmod 666 /data/secret", "t1"));
  const uint32_t other = node.EnsureTenant("t2")->uid;
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(other) != 0 || setuid(other) != 0) _exit(9);
    const std::string projects = node.data() + "/projects/";
    const bool secret = access((projects + "t1/secret").c_str(), R_OK) == 0;
    const bool state = access((node.data() + "/pods/p/state.json").c_str(), R_OK) == 0;
    const bool list = access((node.data() + "/pods").c_str(), R_OK) == 0;
    _exit((secret ? 1 : 0) | (state ? 2 : 0) | (list ? 4 : 0));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Walls, TheHostAndPrivateNetworksAreRefused) {
  // A listener on every address of the host.
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  std::string hosts = "'10.0.2.2', '169.254.169.254', '192.168.0.1', '10.1.2.3', '172.16.0.1', '100.64.0.1'";
  for (const std::string& own : HostAddresses()) hosts += ", '" + own + "'";
  RealHarness node;
  const std::string out = node.Output(
      ShellPod("p", "python3 -c \"\nimport socket, time\nfor host in (" + hosts +
                        "):\n"
                        "  s = socket.socket(); s.settimeout(3); t = time.time()\n"
                        "  try: s.connect((host, " +
                        port +
                        ")); print('connected', host)\n"
                        "  except OSError as e: print('no', host, 'fast', time.time() - t < 1)\n\"\n"
                        "ip -o addr show tap0 | head -1"));
  EXPECT_FALSE(Contains(out, "connected")) << out;
  EXPECT_FALSE(Contains(out, "fast False")) << out;
  EXPECT_TRUE(Contains(out, "10.0.2.100"))
      << "the pod must have its way out, or this test shows nothing: " << out;
}

TEST(Walls, APodCannotChangeItsFirewall) {
  RealHarness node;
  const std::string out =
      node.Output(ShellPod("p",
                           "/usr/sbin/nft list ruleset; /usr/sbin/nft flush ruleset && echo flushed; "
                           "ip link set tap0 down && echo downed"));
  EXPECT_FALSE(Contains(out, "flushed")) << out;
  EXPECT_FALSE(Contains(out, "downed")) << out;
}

// ---- without root

TEST(UserMode, RunsPodsWithoutRoot) {
  RealHarness node(12345);
  PodRun run =
      ShellPod("p", "id -u; echo hello; echo f > /data/f; echo result > /dev/termination-log; exit 5");
  run.memory_bytes = 256 << 20;
  const std::string out = node.Output(run);
  EXPECT_TRUE(Contains(out, "1000\nhello\n")) << out;
  const PodState ended = node.WaitForPhase("p", PodPhase::kExited);
  EXPECT_EQ(ended.exit_code, 5);
  EXPECT_EQ(ended.message, "result\n");
  struct stat info{};
  ASSERT_EQ(stat((node.data() + "/projects/t1/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 12345u);

  PodRun memory = ShellPod("m", "");
  memory.command = {"python3", "-c", "bytearray(1<<30)"};
  memory.memory_bytes = 128 << 20;
  EXPECT_TRUE(Contains(node.Output(memory), "MemoryError"));
  bool partly = false;
  for (const Guarantee& row : node.guarantees())
    partly = partly || (row.what == "memory" && row.hold == Hold::kPartly);
  EXPECT_TRUE(partly);
}

TEST(UserMode, StopsKillsAndServesItsDoor) {
  RealHarness node(12345);
  PodRun run = ShellPod("p", "exec python3 -m http.server --bind 127.0.0.1 8000");
  run.door = Door{8000, "0123456789abcdef"};
  run.readiness = HttpProbe{"/", 8000, std::chrono::milliseconds(100)};
  ASSERT_TRUE(node.Start(run));
  const PodState ready = node.WaitFor("p", [](const PodState& state) { return state.ready; });
  EXPECT_TRUE(Contains(Exchange(ready.door_socket, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "403"));
  EXPECT_TRUE(Contains(
      Exchange(ready.door_socket, "GET / HTTP/1.1\r\nHost: a\r\nX-Cubeplane-Door: 0123456789abcdef\r\n\r\n"),
      "200"));
  ASSERT_TRUE(node.Stop("p", seconds(5)));
  node.WaitForPhase("p", PodPhase::kExited);

  ASSERT_TRUE(node.Start(ShellPod("k", Mark())));
  node.WaitForPhase("k", PodPhase::kRunning);
  node.KillSupervisor("k");
  node.WaitForPhase("k", PodPhase::kLost);
  for (int i = 0; i < 50 && AnyProcessWith(Mark()); ++i) usleep(10'000);
  EXPECT_FALSE(AnyProcessWith(Mark()));
}

TEST(UserMode, RefusesASecondTenantUnlessTrusted) {
  {
    RealHarness node(12345);
    ASSERT_TRUE(node.EnsureTenant("t1"));
    const auto second = node.EnsureTenant("t2");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kForbidden);
    EXPECT_TRUE(Contains(second.error().message, "--trust-tenants"));
    EXPECT_EQ(node.Start(ShellPod("p", "true", "t2")).error().code, Code::kForbidden);
  }
  RealHarness node(12345, {"--trust-tenants"});
  ASSERT_TRUE(node.EnsureTenant("t1"));
  EXPECT_TRUE(node.EnsureTenant("t2"));
}

}  // namespace
}  // namespace cubeplane::engine::node
