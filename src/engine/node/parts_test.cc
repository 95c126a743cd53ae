// The runtime's pure and single parts: door requests, archives, log lines, checks, firewall rules, user ids.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/random.h"
#include "engine/node/archive.h"
#include "engine/node/door_request.h"
#include "engine/node/guarantees.h"
#include "engine/node/log_file.h"
#include "engine/node/network.h"
#include "engine/node/sandbox.h"
#include "engine/node/spec.h"
#include "engine/node/testing/harness.h"
#include "engine/node/uids.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

constexpr const char* kSecret = "0123456789abcdef";

class TempFolder {
 public:
  TempFolder() : path_("/tmp/cpt-part-" + SystemRandom().Hex(4)) {
    mkdir(path_.c_str(), 0755);
    dir_ = std::move(*OpenDir(path_));
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  int dir() const { return dir_.get(); }

 private:
  std::string path_;
  Fd dir_;
};

// ---- door

std::string Request(const std::string& headers) {
  return "GET /lab?x=1 HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}
std::string WithSecret(const std::string& headers) {
  return Request("X-Cubeplane-Door: " + std::string(kSecret) + "\r\n" + headers);
}

TEST(DoorRequest, StripsTheSecretAndClosesAfterOneRequest) {
  const auto head = CheckHead(WithSecret("Connection: keep-alive\r\nCookie: a=b\r\n"), kSecret);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->forward, "GET /lab?x=1 HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head->body, BodyKind::kNone);
}

TEST(DoorRequest, RefusesAbsentWrongAndDoubledSecrets) {
  EXPECT_EQ(CheckHead(Request(""), kSecret).error().code, Code::kForbidden);
  EXPECT_EQ(CheckHead(Request("X-Cubeplane-Door: 0123456789abcdeX\r\n"), kSecret).error().code,
            Code::kForbidden);
  EXPECT_EQ(CheckHead(Request("X-Cubeplane-Door: 0123456789abcdef0\r\n"), kSecret).error().code,
            Code::kForbidden);
  EXPECT_EQ(CheckHead(WithSecret("X-Cubeplane-Door: x\r\n"), kSecret).error().code, Code::kForbidden);
}

TEST(DoorRequest, RefusesWhatTwoServersCouldReadDifferently) {
  for (const std::string headers :
       {"Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Content-Length: +1\r\n", "Content-Length : 1\r\n",
        "A: b\r\n folded: c\r\n", "A: b\rX: y\r\n", "A: b\nX-Smuggled: y\r\n", ": x\r\n"}) {
    const auto head = CheckHead(WithSecret(headers), kSecret);
    ASSERT_FALSE(head) << headers;
    EXPECT_EQ(head.error().code, Code::kBadRequest) << headers;
  }
}

TEST(DoorRequest, LetsUpgradesThrough) {
  const auto head =
      CheckHead(WithSecret("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"), kSecret);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, BodyKind::kTunnel);
  EXPECT_NE(head->forward.find("Connection: Upgrade\r\n"), std::string::npos);
  EXPECT_NE(head->forward.find("Upgrade: websocket\r\n"), std::string::npos);
}

TEST(DoorRequest, CountsBodiesAndNothingBehindThem) {
  BodyMeter length(*CheckHead(WithSecret("Content-Length: 5\r\n"), kSecret));
  EXPECT_EQ(length.Take("abc"), 3u);
  EXPECT_EQ(length.Take("deGET / HTTP/1.1"), 2u);
  EXPECT_TRUE(length.done());

  const std::string chunks = "4;ext=1\r\nabcd\r\n0\r\nTrailer: x\r\n\r\n";
  BodyMeter whole(*CheckHead(WithSecret("Transfer-Encoding: chunked\r\n"), kSecret));
  EXPECT_EQ(whole.Take(chunks + "GET / HTTP/1.1"), chunks.size());
  EXPECT_TRUE(whole.done());
  BodyMeter bytewise(*CheckHead(WithSecret("Transfer-Encoding: chunked\r\n"), kSecret));
  for (const char c : chunks) {
    EXPECT_FALSE(bytewise.done());
    EXPECT_EQ(bytewise.Take(std::string(1, c)), 1u);
  }
  EXPECT_TRUE(bytewise.done());
  BodyMeter damaged(*CheckHead(WithSecret("Transfer-Encoding: chunked\r\n"), kSecret));
  damaged.Take("zz\r\nGET / HTTP/1.1\r\n");
  EXPECT_TRUE(damaged.done());
}

// ---- archive

TEST(Archive, UnpacksFilesFoldersAndInnerLinks) {
  const TempFolder folder;
  const auto unpacked = UnpackArchive(Tar({{"./src", "", '5'},
                                           {"./src/train.py", "print(1)"},
                                           {"link.py", "src/train.py", '2'},
                                           {"deep/er/x", "y"}}),
                                      folder.dir());
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(*ReadFileAt(folder.dir(), "src/train.py", 100), "print(1)");
  EXPECT_EQ(*ReadFileAt(folder.dir(), "deep/er/x", 100), "y");
  EXPECT_EQ(std::filesystem::read_symlink(folder.path() + "/link.py"), "src/train.py");
}

TEST(Archive, RefusesEscapes) {
  const std::vector<std::vector<TarEntry>> hostile = {
      {{"/etc/x", "y"}},
      {{"../x", "y"}},
      {{"a/../../x", "y"}},
      {{"a", "/etc", '2'}},
      {{"a", "../..", '2'}},
      {{"d/a", "../../x", '2'}},
      {{"a", "b", '2'}, {"b", "", '5'}, {"a/x", "y"}},
      {{"a", ".", '2'}, {"a/x", "y"}},
      {{"a", "/etc/passwd", '1'}},
      {{"fifo", "", '6'}},
      {{"dev", "", '3'}},
      {{"x", "1"}, {"x", "2"}},
  };
  for (const auto& entries : hostile) {
    const TempFolder folder;
    const auto unpacked = UnpackArchive(Tar(entries), folder.dir());
    ASSERT_FALSE(unpacked) << entries[0].name << " " << entries[0].content;
    EXPECT_EQ(unpacked.error().code, Code::kInvalid);
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/../x"));
  }
}

TEST(Archive, RefusesBombsAndDamage) {
  const TempFolder folder;
  const std::string big(33 << 20, 'a');
  EXPECT_EQ(UnpackArchive(Tar({{"a", big}, {"b", big}}), folder.dir()).error().code, Code::kInvalid);
  EXPECT_EQ(UnpackArchive("not gzip", folder.dir()).error().code, Code::kInvalid);
  const std::string whole = Tar({{"c", "text"}});
  EXPECT_EQ(UnpackArchive(whole.substr(0, whole.size() / 2), folder.dir()).error().code, Code::kInvalid);
}

// ---- log

TEST(LogFile, WritesCriLinesAndCutsLongOnes) {
  const TempFolder folder;
  ManualClock clock;
  LogFile log(clock, folder.dir(), geteuid());
  log.Append(LogFile::kStdout, "one\ntw");
  log.Append(LogFile::kStderr, "err\n");
  log.Append(LogFile::kStdout, "o\n" + std::string(20'000, 'x') + "\nlast");
  log.Flush(LogFile::kStdout);
  const std::string at = FormatNanos(clock.Now());
  EXPECT_EQ(at.size(), 30u);
  EXPECT_EQ(*ReadFileAt(folder.dir(), "log", 1 << 20),
            at + " stdout F one\n" + at + " stderr F err\n" + at + " stdout F two\n" + at + " stdout P " +
                std::string(16384, 'x') + "\n" + at + " stdout F " + std::string(20'000 - 16384, 'x') + "\n" +
                at + " stdout F last\n");
  EXPECT_EQ(log.last_error_line(), "err");
}

TEST(LogFile, IsBoundedAndRotated) {
  const TempFolder folder;
  ManualClock clock;
  LogFile log(clock, folder.dir(), geteuid(), {.file_bytes = 10'000});
  for (int i = 0; i < 1000; ++i) log.Append(LogFile::kStdout, std::string(99, 'x') + "\n");
  EXPECT_LE(std::filesystem::file_size(folder.path() + "/log"), 10'000u);
  EXPECT_LE(std::filesystem::file_size(folder.path() + "/log.1"), 10'000u);
  EXPECT_EQ(ListDir(folder.dir()).size(), 2u);
}

TEST(LogFile, StopsReadingWhenTheBucketIsEmpty) {
  const TempFolder folder;
  ManualClock clock;
  LogFile log(clock, folder.dir(), geteuid(), {.bytes_per_second = 100'000, .burst_bytes = 50'000});
  EXPECT_EQ(log.Allowance(), 50'000u);
  log.Append(LogFile::kStdout, std::string(49'999, 'x') + "\n");
  EXPECT_EQ(log.Allowance(), 0u);
  EXPECT_GT(log.RefillAt(), clock.MonoNow());
  clock.Advance(log.RefillAt() - clock.MonoNow());
  EXPECT_GE(log.Allowance(), 16'384u);
}

// ---- checks, codec, rules

TEST(Spec, RunSurvivesItsJson) {
  PodRun run = ShellPod("u", "x");
  run.env = {{"A", "b=c"}};
  run.mounts.push_back({Mount::Kind::kCode, "/workspace", "", std::string("\0\1\2", 3), 0});
  run.mounts.push_back({Mount::Kind::kScratch, "/scratch", "", "", 123});
  run.door = Door{8888, kSecret};
  run.readiness = HttpProbe{"/api", 8888};
  run.memory_bytes = 1 << 30;
  run.restart = true;
  const auto again = PodRunFromJson(*json::Parse(json::Write(ToJson(run))));
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), ToJson(run));
  EXPECT_EQ(again->mounts[1].archive, run.mounts[1].archive);
  EXPECT_TRUE(CheckRun(*again));
}

TEST(Spec, NamesTheFieldThatIsWrong) {
  const auto field = [](auto change) {
    PodRun run = ShellPod("u", "x");
    change(run);
    const auto checked = CheckRun(run);
    return checked ? std::string("(none)") : checked.error().fields[0].path;
  };
  EXPECT_EQ(field([](PodRun& run) { run.uid = "../x"; }), "uid");
  EXPECT_EQ(field([](PodRun& run) { run.tenant.id = ".hidden"; }), "tenant.id");
  EXPECT_EQ(field([](PodRun& run) { run.command.clear(); }), "command");
  EXPECT_EQ(field([](PodRun& run) { run.env = {{"A=", "b"}}; }), "env");
  EXPECT_EQ(field([](PodRun& run) { run.mounts[0].path = "/data/../etc"; }), "mounts[0].path");
  EXPECT_EQ(field([](PodRun& run) { run.mounts[0].sub_path = "../other"; }), "mounts[0].subPath");
  EXPECT_EQ(field([](PodRun& run) { run.devices = {"/etc/shadow"}; }), "devices");
  EXPECT_EQ(field([](PodRun& run) { run.devices = {"/dev/../etc/shadow"}; }), "devices");
  EXPECT_EQ(field([](PodRun& run) { run.door = Door{80, "short"}; }), "door.secret");
  EXPECT_EQ(field([](PodRun& run) { run.memory_bytes = 5; }), "memoryBytes");
  EXPECT_EQ(field([](PodRun& run) { run.mounts.assign(33, run.mounts[0]); }), "mounts");
}

TEST(Network, RulesPutTheHostBeforeWhatIsAllowed) {
  const std::string rules = FirewallRules({"203.0.113.5"}, {"10.1.0.0/16"});
  const size_t host = rules.find("ip daddr 203.0.113.5 reject"),
               allowed = rules.find("ip daddr 10.1.0.0/16 accept"), priv = rules.find("169.254.0.0/16");
  ASSERT_NE(host, std::string::npos);
  EXPECT_LT(host, allowed);
  EXPECT_LT(allowed, priv);
  EXPECT_NE(rules.find("policy drop"), std::string::npos);
  EXPECT_FALSE(IsIpv4Network("10.0.0.0/33"));
  EXPECT_FALSE(IsIpv4Network("10.0.0.0/8; accept"));
  EXPECT_TRUE(IsIpv4Network("10.0.0.1"));
}

TEST(Uids, AreNeverHandedOutTwice) {
  const TempFolder folder;
  const std::string registry = folder.path() + "/uids";
  const auto a = TenantUid(registry, "one", "t"), again = TenantUid(registry, "one", "t"),
             b = TenantUid(registry, "two", "t");
  ASSERT_TRUE(a && again && b);
  EXPECT_EQ(*a, *again);
  EXPECT_NE(*a, *b);
  EXPECT_GE(*a, kFirstUid);
  // A torn last line uses its number up.
  const auto dir = OpenDir(registry);
  const std::string text = *ReadFileAt(dir->get(), "uids", 1 << 20);
  ASSERT_TRUE(WriteFileAt(dir->get(), "uids", text + std::to_string(*b + 1) + " thr", 0600, false));
  EXPECT_EQ(*TenantUid(registry, "three", "t"), *b + 2);
  EXPECT_EQ(*TenantUid(registry, "three", "t"), *b + 2);
}

TEST(Uids, RefusesARegistryOthersCanWrite) {
  const TempFolder folder;
  chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(TenantUid(folder.path(), "one", "t").error().code, Code::kForbidden);
}

TEST(Sandbox, KeepsTheEnvironmentOffTheCommandLine) {
  PodFile pod{{}, ShellPod("u", "x")};
  pod.node.environments["default"] = "/usr";
  pod.run.env = {{"TOKEN", "hidden-value"}};
  const auto plan = PlanSandbox(pod, 5, 6);
  ASSERT_TRUE(plan);
  for (const std::string& word : plan->command) EXPECT_EQ(word.find("hidden-value"), std::string::npos);
  EXPECT_NE(std::find(plan->options.begin(), plan->options.end(), "hidden-value"), plan->options.end());
}

TEST(Guarantees, SurviveTheirJson) {
  const auto rows = Guarantees();
  EXPECT_EQ(rows.size(), 7u);
  EXPECT_EQ(ToJson(GuaranteesFromJson(ToJson(rows))), ToJson(rows));
}

}  // namespace
}  // namespace cubeplane::engine::node
