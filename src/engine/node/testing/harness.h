// A real node in a folder of its own, with a client on a loop of its own thread. Needs root, bwrap,
// slirp4netns, nft, python3; where one is missing the tests fail.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "async/group.h"
#include "async/loop.h"
#include "async/manual_executor.h"
#include "engine/fake_runtime.h"
#include "engine/node/client.h"
#include "engine/node/sys.h"
#include "engine/runtime.h"

namespace cubeplane::engine::node {

// A loop on a thread; Await runs a task on it from outside.
class LoopThread {
 public:
  LoopThread()
      : loop_(clock_), group_(std::make_unique<async::TaskGroup>(loop_)), thread_([this] { loop_.Run(); }) {}
  ~LoopThread() {
    Call([this] { group_.reset(); });
    loop_.Stop();
    thread_.join();
  }
  async::Loop& loop() { return loop_; }
  void Call(std::function<void()> call) {
    std::promise<void> done;
    loop_.Post([&] {
      call();
      done.set_value();
    });
    done.get_future().get();
  }
  template <class T>
  T Await(async::Task<T> task) {
    std::promise<T> done;
    auto body = [](async::Task<T> task, std::promise<T>& done) -> async::Task<void> {
      T value = co_await std::move(task);
      done.set_value(std::move(value));
    };
    Call([&] { group_->Spawn(body(std::move(task), done)); });
    return done.get_future().get();
  }

 private:
  SystemClock clock_;
  async::Loop loop_;
  std::unique_ptr<async::TaskGroup> group_;
  std::thread thread_;
};

// What tests of the contract need from either implementation.
class Harness {
 public:
  virtual ~Harness() = default;
  virtual Result<Tenant> EnsureTenant(const std::string& id) = 0;
  virtual Result<void> Start(PodRun run) = 0;
  virtual Result<void> Stop(const std::string& uid, Duration grace) = 0;
  virtual Result<void> Remove(const std::string& uid, bool keep_log) = 0;
  virtual Result<std::vector<PodState>> List() = 0;
  // Waits (20 s at most) until the pod's last told state fulfils `done`, and gives it; the last state
  // otherwise.
  virtual PodState WaitFor(const std::string& uid, std::function<bool(const PodState&)> done) = 0;
  virtual void KillSupervisor(const std::string& uid) = 0;
  // Ends the control plane's side and makes it anew.
  virtual void RestartUser() = 0;
  PodState WaitForPhase(const std::string& uid, PodPhase phase) {
    return WaitFor(uid, [phase](const PodState& state) { return state.phase == phase; });
  }
  // What was told, in order, of one pod.
  virtual std::vector<PodState> Told(const std::string& uid) = 0;
};

class RealHarness final : public Harness {
 public:
  // `user`: the node runs as this user id instead of root.
  explicit RealHarness(uint32_t user = 0, std::vector<std::string> options = {});
  ~RealHarness() override;

  Result<Tenant> EnsureTenant(const std::string& id) override;
  Result<void> Start(PodRun run) override;
  Result<void> Stop(const std::string& uid, Duration grace) override;
  Result<void> Remove(const std::string& uid, bool keep_log) override;
  Result<std::vector<PodState>> List() override;
  PodState WaitFor(const std::string& uid, std::function<bool(const PodState&)> done) override;
  void KillSupervisor(const std::string& uid) override;
  void RestartUser() override;
  std::vector<PodState> Told(const std::string& uid) override;

  void StartNode();
  void KillNode(int signal);
  pid_t node_pid() const { return node_; }
  pid_t SupervisorPid(const std::string& uid);
  Result<void> EndInstance();
  // Both calls are on their way before either is answered.
  std::pair<Result<void>, Result<void>> StartTwice(PodRun run);
  std::vector<Guarantee> guarantees();
  // Runs to the end and gives its output without the CRI words.
  std::string Output(PodRun run);
  std::string Log(const std::string& uid);
  std::string RawLog(const std::string& uid);
  const std::string& folder() const { return folder_; }
  std::string data() const { return folder_ + "/data"; }
  std::string instance();

 private:
  void Connect();

  const uint32_t user_;
  const std::vector<std::string> options_;
  std::string folder_;
  pid_t node_ = 0;
  LoopThread loop_;
  std::unique_ptr<Client> client_;
  std::mutex mutex_;
  std::map<std::string, std::vector<PodState>> told_;  // guarded by mutex_
};

class FakeHarness final : public Harness {
 public:
  FakeHarness();
  Result<Tenant> EnsureTenant(const std::string& id) override;
  Result<void> Start(PodRun run) override;
  Result<void> Stop(const std::string& uid, Duration grace) override;
  Result<void> Remove(const std::string& uid, bool keep_log) override;
  Result<std::vector<PodState>> List() override;
  PodState WaitFor(const std::string& uid, std::function<bool(const PodState&)> done) override;
  void KillSupervisor(const std::string& uid) override;
  void RestartUser() override;
  std::vector<PodState> Told(const std::string& uid) override;

 private:
  template <class T>
  T Await(async::Task<T> task);
  ManualClock clock_;
  async::ManualExecutor executor_;
  FakeRuntime runtime_;
  std::map<std::string, std::vector<PodState>> told_;
};

// A pod of tenant `t1` that runs `script` in a shell, with /data.
PodRun ShellPod(const std::string& uid, const std::string& script, const std::string& tenant = "t1");
// A gzipped tar of these entries (name, content), made by tar's rules with nothing checked; type '2' and '1'
// have the content as link target.
struct TarEntry {
  std::string name, content;
  char type = '0';
};
std::string Tar(const std::vector<TarEntry>& entries);
// One HTTP exchange over a Unix socket; the answer, or "" when there is none.
std::string Exchange(const std::string& socket, const std::string& request);
// Any process whose command line holds `text`.
bool AnyProcessWith(const std::string& text);

}  // namespace cubeplane::engine::node
