// Single pods on a real node: what they see, their limits, their door, and how they end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/node/cgroup.h"
#include "engine/node/testing/harness.h"

namespace cubeplane::engine::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A payload whose server answers with the head it was sent.
PodRun Server(const std::string& uid) {
  PodRun run = ShellPod(uid, "");
  run.command = {"python3", "-u", "-c",
                 "import http.server, time, sys\n"
                 "class H(http.server.BaseHTTPRequestHandler):\n"
                 "  protocol_version='HTTP/1.1'\n"
                 "  def do_GET(self):\n"
                 "    body=(self.requestline+'\\n'+str(self.headers)).encode()\n"
                 "    self.send_response(200); self.send_header('Content-Length',str(len(body)))\n"
                 "    self.end_headers(); self.wfile.write(body)\n"
                 "  def do_POST(self):\n"
                 "    n=int(self.headers['Content-Length']); b=self.rfile.read(n)\n"
                 "    self.send_response(200); self.send_header('Content-Length',str(len(b)))\n"
                 "    self.end_headers(); self.wfile.write(b)\n"
                 "time.sleep(0.3)\n"
                 "http.server.ThreadingHTTPServer(('127.0.0.1',8000),H).serve_forever()\n"};
  run.door = Door{8000, kSecret};
  run.readiness = HttpProbe{"/", 8000, milliseconds(100)};
  return run;
}

std::string Get(const std::string& socket, const std::string& secret, const std::string& more = "") {
  return Exchange(socket, "GET /x HTTP/1.1\r\nHost: a\r\n" +
                              (secret.empty() ? "" : "X-Cubeplane-Door: " + secret + "\r\n") + more + "\r\n");
}

TEST(Pod, SeesItsOwnWorldOnly) {
  RealHarness node;
  const std::string out =
      node.Output(ShellPod("p",
                           "id -u; pwd; ls /; ls /root /home /work /var 2>&1; cat /etc/passwd; grep -c . "
                           "/proc/1/environ; ls -A /run; "
                           "echo pids; ls -d /proc/[0-9]* | wc -l; touch /usr/x /etc/x /x /opt/env/x 2>&1; "
                           "python3 -c 'import sys; "
                           "print(sys.prefix)'; echo done > /data/file; touch /tmp/x && echo tmp-ok"));
  EXPECT_TRUE(Contains(out, "1000\n"));
  EXPECT_TRUE(Contains(out, "cannot access '/root'")) << out;
  EXPECT_TRUE(Contains(out, "cannot access '/home'")) << out;
  EXPECT_TRUE(Contains(out, "'/usr/x': Read-only file system")) << out;
  EXPECT_TRUE(Contains(out, "'/x': Read-only file system")) << out;
  EXPECT_TRUE(Contains(out, "'/opt/env/x': Read-only file system")) << out;
  EXPECT_TRUE(Contains(out, "/opt/env\n")) << out;
  EXPECT_TRUE(Contains(out, "tmp-ok")) << out;
  EXPECT_FALSE(Contains(out, "haproxy")) << out;
  struct stat info{};
  ASSERT_EQ(stat((node.data() + "/projects/t1/file").c_str(), &info), 0);
  EXPECT_GE(info.st_uid, 1'900'000'000u);
}

TEST(Pod, MountsDataCodeAndScratch) {
  RealHarness node;
  PodRun run = ShellPod(
      "p",
      "cat /workspace/main.sh; touch /workspace/x 2>&1; echo home > /home/f; df -k /scratch | tail -1 | "
      "awk '{print $2}'; dd if=/dev/zero of=/scratch/big bs=1M count=20 2>&1 | tail -1; "
      "dd if=/dev/zero of=/dev/shm/big bs=1M count=20 2>&1 | grep -c 'No space'; pwd");
  run.mounts.push_back({Mount::Kind::kCode, "/workspace", "", Tar({{"main.sh", "echo hi\n"}}), 0});
  run.mounts.push_back({Mount::Kind::kScratch, "/scratch", "", "", 8 << 20});
  run.mounts.push_back({Mount::Kind::kData, "/home", "home/alice", "", 0});
  run.shm_bytes = 8 << 20;
  run.working_dir = "/workspace";
  const std::string out = node.Output(run);
  EXPECT_TRUE(Contains(out, "echo hi")) << out;
  EXPECT_TRUE(Contains(out, "'/workspace/x': Read-only file system")) << out;
  EXPECT_TRUE(Contains(out, "8192\n")) << out;
  EXPECT_TRUE(Contains(out, "\n1\n/workspace")) << out;
  EXPECT_TRUE(std::filesystem::exists(node.data() + "/projects/t1/home/alice/f"));
}

TEST(Pod, RefusesAnArchiveThatEscapesAndLeavesNothing) {
  RealHarness node;
  PodRun run = ShellPod("p", "true");
  run.mounts.push_back({Mount::Kind::kCode, "/workspace", "", Tar({{"../../evil", "x"}}), 0});
  const auto started = node.Start(run);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kInvalid);
  EXPECT_TRUE(Contains(started.error().message, "../../evil")) << started.error().message;
  EXPECT_FALSE(std::filesystem::exists(node.data() + "/pods/p"));
  EXPECT_TRUE(node.List()->empty());
}

TEST(Pod, RefusesASubPathSwappedForALink) {
  RealHarness node;
  node.Output(ShellPod("a", "mkdir -p /data/home; ln -s / /data/home/alice; ln -s ../../t2 /data/other"));
  ASSERT_TRUE(node.EnsureTenant("t2"));
  for (const std::string sub_path : {"home/alice", "home/alice/etc", "other"}) {
    PodRun run = ShellPod("b-" + std::to_string(sub_path.size()), "ls -la /data; echo reached");
    run.mounts[0].sub_path = sub_path;
    const std::string out = node.Output(run);
    EXPECT_FALSE(Contains(out, "reached")) << out;
    const PodState ended = node.WaitForPhase(run.uid, PodPhase::kExited);
    EXPECT_EQ(ended.exit_code, 128);
    EXPECT_TRUE(Contains(ended.message, "leads through a link")) << ended.message;
  }
}

TEST(Pod, SaysWhenTheEnvironmentLacksTheCommand) {
  RealHarness node;
  PodRun run = ShellPod("p", "");
  run.command = {"jupyter-lab", "--ip=127.0.0.1"};
  ASSERT_TRUE(node.Start(run));
  const PodState ended = node.WaitForPhase("p", PodPhase::kExited);
  EXPECT_EQ(ended.exit_code, 127);
  EXPECT_EQ(ended.message, "the environment lacks jupyter-lab");
}

TEST(Pod, MakesHomeAndWorkingFolder) {
  RealHarness node;
  PodRun run = ShellPod("p", "pwd; cd; pwd; touch x && echo written");
  run.env = {{"HOME", "/data/home/alice"}};
  run.working_dir = "/data/work/now";
  EXPECT_EQ(node.Output(run), "/data/work/now\n/data/home/alice\nwritten\n");
  run.uid = "q";
  run.working_dir = "/nowhere";
  EXPECT_EQ(node.Output(run), "");
  EXPECT_EQ(node.WaitForPhase("q", PodPhase::kExited).message,
            "the environment lacks its working folder /nowhere");
}

// A root folder of its own make: here a shell with its libraries and nothing else.
TEST(Pod, RunsAnImageThatIsAFolder) {
  RealHarness node;
  const std::string root = node.folder() + "/image";
  const std::string make =
      "mkdir -p " + root + "/usr/bin " + root + "/usr/lib64 " + root + "/etc && cd " + root +
      " && cp /usr/bin/dash usr/bin/sh && cp -L $(ldd /usr/bin/dash | grep -o '/[^ ]*') usr/lib64/ && ln -s "
      "usr/bin bin "
      "&& ln -s usr/lib64 lib64 && echo from-image > etc/mark && echo wrong > etc/passwd";
  ASSERT_EQ(system(make.c_str()), 0);
  PodRun run = ShellPod(
      "p", "read x < /etc/mark; echo $x; read y < /etc/passwd; echo $y; test -e /usr/bin/ls || echo no ls");
  run.image = "dir:" + root;
  run.env = {{"LD_LIBRARY_PATH", "/usr/lib64"}};
  EXPECT_EQ(node.Output(run), "from-image\nroot:x:0:0:root:/root:/usr/sbin/nologin\nno ls\n");
}

TEST(Pod, SystemCallFilterHolds) {
  RealHarness node;
  const std::string out = node.Output(ShellPod(
      "p",
      "unshare -U true 2>&1; mount -t tmpfs x /tmp 2>&1; grep -E 'Seccomp:|CapBnd' /proc/self/status\n"
      "python3 -c \"\nimport socket, threading, subprocess, fcntl, ctypes\n"
      "for f in (17, 40, 38):\n"
      "  try: socket.socket(f, socket.SOCK_RAW); print('opened', f)\n"
      "  except OSError as e: print('refused', f)\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "for name, number in (('keyctl', 250), ('bpf', 321), ('io_uring_setup', 425), ('userfaultfd', 323)):\n"
      "  print(name, libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
      "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()\n"
      "print(subprocess.check_output(['echo', 'child']).decode())\n\""));
  EXPECT_TRUE(Contains(out, "Seccomp:\t2")) << out;
  EXPECT_TRUE(Contains(out, "CapBnd:\t0000000000000000")) << out;
  EXPECT_TRUE(Contains(out, "unshare failed")) << out;
  EXPECT_TRUE(Contains(out, "refused 17") && Contains(out, "refused 40") && Contains(out, "refused 38"))
      << out;
  EXPECT_TRUE(Contains(out, "keyctl -1 1") && Contains(out, "bpf -1 1") && Contains(out, "userfaultfd -1 1"))
      << out;
  EXPECT_TRUE(Contains(out, "io_uring_setup -1 38")) << out;
  EXPECT_TRUE(Contains(out, "thread") && Contains(out, "child")) << out;
}

TEST(Pod, MemoryLimitHoldsAndIsRecorded) {
  RealHarness node;
  ASSERT_NE(DetectCgroups(), CgroupKind::kNone);
  PodRun run = ShellPod("p", "");
  run.command = {"python3", "-c", "x=bytearray(400<<20); print(len(x))"};
  run.memory_bytes = 64 << 20;
  ASSERT_TRUE(node.Start(run));
  const PodState ended = node.WaitForPhase("p", PodPhase::kExited);
  EXPECT_TRUE(ended.oom_killed);
  EXPECT_EQ(ended.exit_code, 137);
  EXPECT_EQ(ended.message, "was killed: it used more than its memory limit");
}

TEST(Pod, ProcessAndCpuLimitsHold) {
  RealHarness node;
  PodRun run = ShellPod("p",
                        "python3 -c \"\nimport subprocess\nps=[]\n"
                        "try:\n  for i in range(100): ps.append(subprocess.Popen(['sleep','5']))\n"
                        "except OSError as e: print('stopped at', len(ps) < 25, e.errno)\n"
                        "for p in ps: p.kill()\n\"\n"
                        "python3 -c \"\nimport time\nt=time.time(); c=time.process_time()\n"
                        "while time.time()-t<1: pass\nprint('cpu', time.process_time()-c < 0.5)\n\"");
  run.pids = 24;
  run.cpu_milli = 200;
  const std::string out = node.Output(run);
  EXPECT_TRUE(Contains(out, "stopped at True 11")) << out;
  EXPECT_TRUE(Contains(out, "cpu True")) << out;
}

TEST(Pod, LogFloodIsBoundedInRate) {
  RealHarness node;
  ASSERT_TRUE(node.Start(ShellPod("p", "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
  node.WaitForPhase("p", PodPhase::kRunning);
  usleep(1'500'000);
  EXPECT_LT(std::filesystem::file_size(node.data() + "/pods/p/log"), 40u << 20);
  ASSERT_TRUE(node.Stop("p", seconds(1)));
  node.WaitForPhase("p", PodPhase::kExited);
}

TEST(Pod, DoorAsksForTheSecretAndStripsIt) {
  RealHarness node;
  ASSERT_TRUE(node.Start(Server("p")));
  const PodState running = node.WaitForPhase("p", PodPhase::kRunning);
  EXPECT_FALSE(running.ready);
  EXPECT_TRUE(Contains(Get(running.door_socket, kSecret), "503 Service Unavailable"));
  const PodState ready = node.WaitFor("p", [](const PodState& state) { return state.ready; });
  const std::string& door = ready.door_socket;
  ASSERT_LT(door.size(), 108u);
  EXPECT_TRUE(Contains(Get(door, ""), "HTTP/1.1 403"));
  EXPECT_TRUE(Contains(Get(door, "0123456789abcdef0123456789abcdeX"), "HTTP/1.1 403"));
  const std::string answer = Get(door, kSecret, "Connection: keep-alive\r\nCookie: c=1\r\n");
  EXPECT_TRUE(Contains(answer, "HTTP/1.1 200")) << answer;
  EXPECT_TRUE(Contains(answer, "Cookie: c=1")) << answer;
  EXPECT_TRUE(Contains(answer, "Connection: close")) << answer;
  EXPECT_FALSE(Contains(answer, kSecret)) << answer;

  // A second request behind the first one's body never reaches the server.
  const std::string pipelined =
      Exchange(door, "POST /a HTTP/1.1\r\nHost: a\r\nX-Cubeplane-Door: " + std::string(kSecret) +
                         "\r\nContent-Length: 4\r\n\r\nbodyGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(pipelined.ends_with("body")) << pipelined;
  EXPECT_FALSE(Contains(pipelined, "smuggled")) << pipelined;

  struct stat info{};
  ASSERT_EQ(stat(door.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_TRUE(node.Stop("p", seconds(5)));
  node.WaitForPhase("p", PodPhase::kExited);
  EXPECT_FALSE(std::filesystem::exists(door));
}

TEST(Pod, DoorCarriesUpgradedStreams) {
  RealHarness node;
  PodRun run = ShellPod("p", "");
  run.command = {"python3", "-u", "-c",
                 "import socket\n"
                 "s=socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
                 "s.bind(('127.0.0.1',8000)); "
                 "s.listen()\n"
                 "while True:\n"
                 "  c,_=s.accept(); h=b''\n"
                 "  while b'\\r\\n\\r\\n' not in h:\n"
                 "    d=c.recv(1000)\n"
                 "    if not d: break\n"
                 "    h+=d\n"
                 "  if b'Upgrade: websocket' not in h: c.close(); continue\n"
                 "  c.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: "
                 "websocket\\r\\n\\r\\n')\n"
                 "  d=h.split(b'\\r\\n\\r\\n',1)[1]\n"
                 "  while True:\n"
                 "    c.sendall(d.upper())\n"
                 "    d=c.recv(1000)\n"
                 "    if not d: break\n"
                 "  c.close()\n"};
  run.door = Door{8000, kSecret};
  ASSERT_TRUE(node.Start(run));
  const PodState running = node.WaitForPhase("p", PodPhase::kRunning);
  std::string answer;
  for (int i = 0; i < 100 && !Contains(answer, "101"); ++i) {
    usleep(20'000);
    const auto connection = ConnectUnix(running.door_socket, SOCK_STREAM);
    ASSERT_TRUE(connection);
    const std::string request = "GET /ws HTTP/1.1\r\nHost: a\r\nX-Cubeplane-Door: " + std::string(kSecret) +
                                "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    ASSERT_TRUE(WriteAll(connection->get(), request + "hello "));
    ASSERT_TRUE(WriteAll(connection->get(), "world"));
    shutdown(connection->get(), SHUT_WR);
    answer.clear();
    char buffer[1000];
    for (ssize_t got = 1; got > 0;) {
      got = recv(connection->get(), buffer, sizeof buffer, 0);
      if (got > 0) answer.append(buffer, static_cast<size_t>(got));
    }
  }
  EXPECT_TRUE(answer.ends_with("HELLO WORLD")) << answer;
}

TEST(Pod, ReadinessFollowsTheServer) {
  RealHarness node;
  PodRun run = Server("p");
  run.command[3] =
      "import http.server, time\n"
      "t=time.time()\n"
      "class H(http.server.BaseHTTPRequestHandler):\n"
      "  def do_GET(self):\n"
      "    self.send_response(200 if time.time()-t<1.2 else 500); self.end_headers()\n"
      "http.server.HTTPServer(('127.0.0.1',8000),H).serve_forever()\n";
  run.readiness->failure_threshold = 2;
  ASSERT_TRUE(node.Start(run));
  node.WaitFor("p", [](const PodState& state) { return state.ready; });
  node.WaitFor("p", [](const PodState& state) { return !state.ready && state.phase == PodPhase::kRunning; });
}

TEST(Pod, ForkedChildrenDieWithIt) {
  RealHarness node;
  const std::string mark = "sleep 98" + std::to_string(getpid());
  node.Output(ShellPod("p", "setsid sh -c '(" + mark + ") & (" + mark + ") &' ; sleep 0.2"));
  EXPECT_FALSE(AnyProcessWith(mark));
}

}  // namespace
}  // namespace cubeplane::engine::node
