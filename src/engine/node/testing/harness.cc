#include "engine/node/testing/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "engine/node/node_setup.h"
#include "engine/node/pod_store.h"
#include "engine/node/sweep.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

// A venv without packages, made once for all tests of this program.
const std::string& Environment() {
  // Never destroyed: the handler that removes the folder runs after destructors would.
  static const std::string& folder = *new std::string([] {
    std::string path = "/tmp/cubeplane-test-env-" + SystemRandom().Hex(4);
    const std::string command = "/usr/bin/python3 -m venv --without-pip " + path;
    EXPECT_EQ(system(command.c_str()), 0);
    atexit([] { std::filesystem::remove_all(Environment()); });
    return path;
  }());
  return folder;
}

void Rest() { usleep(5'000); }

}  // namespace

RealHarness::RealHarness(uint32_t user, std::vector<std::string> options)
    : user_(user), options_(std::move(options)) {
  EXPECT_EQ(geteuid(), 0u) << "these tests need root";
  folder_ = "/tmp/cpt-" + SystemRandom().Hex(4);
  for (const std::string& folder : {folder_, folder_ + "/data", folder_ + "/run"}) {
    mkdir(folder.c_str(), 0755);
    if (chown(folder.c_str(), user_, user_) != 0) abort();
  }
  Environment();
  StartNode();
  Connect();
}

RealHarness::~RealHarness() {
  loop_.Call([&] { client_.reset(); });
  auto swept = SweepInstance(data());
  EXPECT_TRUE(swept) << swept.error().message;
  KillNode(SIGKILL);
  std::filesystem::remove_all(folder_);
}

void RealHarness::StartNode() {
  std::vector<std::string> words = {"/proc/self/exe", "node",
                                    "--socket",       folder_ + "/node.sock",
                                    "--data",         data(),
                                    "--run",          folder_ + "/run",
                                    "--env",          "default=" + Environment(),
                                    "--uids",         folder_ + "/uids"};
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  node_ = fork();
  if (node_ == 0) {
    if (user_ != 0 && (setgid(user_) != 0 || setuid(user_) != 0)) _exit(1);
    execv("/proc/self/exe", argv.data());
    _exit(1);
  }
}

void RealHarness::KillNode(int signal) {
  if (node_ == 0) return;
  kill(node_, signal);
  waitpid(node_, nullptr, 0);
  node_ = 0;
}

void RealHarness::Connect() {
  loop_.Call([&] {
    client_ = std::make_unique<Client>(loop_.loop(), folder_ + "/node.sock", data());
    client_->OnChange([this](const PodState& state) {
      std::lock_guard lock(mutex_);
      told_[state.uid].push_back(state);
    });
  });
  bool connected = false;
  for (int i = 0; i < 2000 && !connected; ++i) {
    Rest();
    loop_.Call([&] { connected = client_->connected(); });
  }
  EXPECT_TRUE(connected) << "the node does not answer";
}

void RealHarness::RestartUser() {
  loop_.Call([&] { client_.reset(); });
  {
    std::lock_guard lock(mutex_);
    told_.clear();
  }
  Connect();
}

Result<Tenant> RealHarness::EnsureTenant(const std::string& id) {
  return loop_.Await(client_->EnsureTenant(id));
}
Result<void> RealHarness::Start(PodRun run) { return loop_.Await(client_->Start(std::move(run))); }
Result<void> RealHarness::Stop(const std::string& uid, Duration grace) {
  return loop_.Await(client_->Stop(uid, grace));
}
Result<void> RealHarness::Remove(const std::string& uid, bool keep_log) {
  return loop_.Await(client_->Remove(uid, keep_log));
}
Result<std::vector<PodState>> RealHarness::List() { return loop_.Await(client_->List()); }
Result<void> RealHarness::EndInstance() { return loop_.Await(client_->EndInstance()); }

std::pair<Result<void>, Result<void>> RealHarness::StartTwice(PodRun run) {
  auto first = std::async(std::launch::async, [&] { return Start(run); });
  auto second = std::async(std::launch::async, [&] { return Start(run); });
  Result<void> one = first.get(), two = second.get();
  return {std::move(one), std::move(two)};
}

std::vector<Guarantee> RealHarness::guarantees() {
  std::vector<Guarantee> rows;
  loop_.Call([&] { rows = client_->guarantees(); });
  return rows;
}

std::vector<PodState> RealHarness::Told(const std::string& uid) {
  std::lock_guard lock(mutex_);
  return told_[uid];
}

PodState RealHarness::WaitFor(const std::string& uid, std::function<bool(const PodState&)> done) {
  const SystemClock clock;
  const Mono until = clock.MonoNow() + kPatience;
  PodState last;
  while (clock.MonoNow() < until) {
    const auto told = Told(uid);
    if (!told.empty()) last = told.back();
    if (!told.empty() && done(last)) return last;
    Rest();
  }
  ADD_FAILURE() << "pod " << uid << " stays at "
                << json::Write(node::ToJson(SupervisorRecord{0, 0, "", last})) << "\n"
                << RawLog(uid);
  return last;
}

pid_t RealHarness::SupervisorPid(const std::string& uid) {
  NodeConfig config;
  config.data = data();
  config.instance = instance();
  PodStore store(config, std::move(*OpenDir(data() + "/pods")));
  const auto record = store.Read(uid);
  EXPECT_TRUE(record);
  return record ? record->pid : 0;
}

std::string RealHarness::instance() {
  const auto pods = OpenDir(data() + "/pods");
  const auto record = ReadNodeRecord(pods->get());
  return record ? record->instance : "";
}

void RealHarness::KillSupervisor(const std::string& uid) { kill(SupervisorPid(uid), SIGKILL); }

std::string RealHarness::RawLog(const std::string& uid) {
  const auto pod = OpenDir(data() + "/pods/" + uid);
  if (!pod) return "";
  const auto text = ReadFileAt(pod->get(), "log", 64u << 20);
  return text ? *text : "";
}

std::string RealHarness::Log(const std::string& uid) {
  std::string text;
  std::stringstream lines(RawLog(uid));
  for (std::string line; std::getline(lines, line);) {
    const size_t tag = line.find(" F ");
    text += tag == std::string::npos ? line : line.substr(tag + 3);
    text += '\n';
  }
  return text;
}

std::string RealHarness::Output(PodRun run) {
  const std::string uid = run.uid;
  auto started = Start(std::move(run));
  EXPECT_TRUE(started) << started.error().message;
  if (!started) return "";
  WaitForPhase(uid, PodPhase::kExited);
  return Log(uid);
}

FakeHarness::FakeHarness() : executor_(clock_), runtime_(executor_) { RestartUser(); }

void FakeHarness::RestartUser() {
  executor_.Clear();
  told_.clear();
  runtime_.OnChange([this](const PodState& state) { told_[state.uid].push_back(state); });
  executor_.RunUntilIdle();
}

template <class T>
T FakeHarness::Await(async::Task<T> task) {
  std::optional<T> value;
  auto body = [](async::Task<T> task, std::optional<T>& value) -> async::Task<void> {
    T result = co_await std::move(task);
    value.emplace(std::move(result));
  };
  async::TaskGroup group(executor_);
  group.Spawn(body(std::move(task), value));
  executor_.RunUntilIdle();
  return std::move(*value);
}

Result<Tenant> FakeHarness::EnsureTenant(const std::string& id) { return Await(runtime_.EnsureTenant(id)); }
Result<void> FakeHarness::Start(PodRun run) { return Await(runtime_.Start(std::move(run))); }
Result<void> FakeHarness::Stop(const std::string& uid, Duration grace) {
  return Await(runtime_.Stop(uid, grace));
}
Result<void> FakeHarness::Remove(const std::string& uid, bool keep_log) {
  return Await(runtime_.Remove(uid, keep_log));
}
Result<std::vector<PodState>> FakeHarness::List() { return Await(runtime_.List()); }
void FakeHarness::KillSupervisor(const std::string& uid) { EXPECT_TRUE(runtime_.KillPod(uid)); }
std::vector<PodState> FakeHarness::Told(const std::string& uid) { return told_[uid]; }

PodState FakeHarness::WaitFor(const std::string& uid, std::function<bool(const PodState&)> done) {
  for (Duration waited(0); waited < kPatience; waited += std::chrono::milliseconds(10)) {
    if (!told_[uid].empty() && done(told_[uid].back())) return told_[uid].back();
    executor_.Advance(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "pod " << uid << " does not get there";
  return told_[uid].empty() ? PodState() : told_[uid].back();
}

PodRun ShellPod(const std::string& uid, const std::string& script, const std::string& tenant) {
  PodRun run;
  run.uid = run.name = uid;
  run.namespace_name = "proj-" + tenant;
  run.tenant.id = tenant;
  run.image = "env:default";
  run.command = {"sh", "-c", script};
  run.mounts = {{Mount::Kind::kData, "/data", "", "", 0}};
  return run;
}

std::string Tar(const std::vector<TarEntry>& entries) {
  std::string tar;
  for (const TarEntry& entry : entries) {
    const bool link = entry.type == '1' || entry.type == '2';
    std::string header(512, '\0');
    const auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
    char number[16];
    put(0, entry.name.substr(0, 100));
    put(100, "0000644");
    snprintf(number, sizeof number, "%011zo", link ? size_t{0} : entry.content.size());
    put(124, number);
    header[156] = entry.type;
    if (link) put(157, entry.content.substr(0, 100));
    put(257, std::string("ustar\0"
                         "00",
                         8));
    put(148, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    snprintf(number, sizeof number, "%06o", sum);
    header.replace(148, 7, std::string(number) + '\0');
    tar += header;
    if (link) continue;
    tar += entry.content;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  tar.resize(tar.size() + 1024, '\0');
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, tar.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(tar.data());
  stream.avail_in = static_cast<uInt>(tar.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Exchange(const std::string& socket, const std::string& request) {
  auto connection = ConnectUnix(socket, SOCK_STREAM);
  if (!connection) return "";
  if (!WriteAll(connection->get(), request)) return "";
  std::string answer;
  char buffer[65536];
  for (;;) {
    pollfd wait{connection->get(), POLLIN, 0};
    if (poll(&wait, 1, 5000) != 1) return answer;
    const ssize_t got = recv(connection->get(), buffer, sizeof buffer, 0);
    if (got <= 0) return answer;
    answer.append(buffer, static_cast<size_t>(got));
  }
}

bool AnyProcessWith(const std::string& text) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string line = ReadKernelFile("/proc/" + name + "/cmdline");
    for (char& c : line) c = c == '\0' ? ' ' : c;
    if (line.find(text) != std::string::npos && name != std::to_string(getpid())) return true;
  }
  return false;
}

}  // namespace cubeplane::engine::node
