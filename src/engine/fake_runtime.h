// A Runtime without a machine, for tests and the simulation: pods are entries in a table, and time is the
// executor's clock.
//
// It behaves as the node does (one contract suite runs against both): starting takes a while, a payload runs
// for as long as it says, ends with the code it says, is restarted with back-off when it should be, obeys
// TERM or is killed after its grace. What a pod does is said by its environment:
//   FAKE_SECONDS  how long the payload runs, with fractions (absent: until it is stopped)
//   FAKE_EXIT     its exit code (0)
//   FAKE_MESSAGE  its termination message
//   FAKE_TERM_SECONDS  how long it takes to end after TERM (0)
// The table is the world outside: it stays when its users are killed and built anew, and does not depend on
// callbacks that a killed process left undone. A new user calls OnChange and hears of every pod. Threading:
// on the executor.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/executor.h"
#include "engine/runtime.h"

namespace cubeplane::engine {

struct FakeRuntimeOptions {
  Duration start_delay = std::chrono::milliseconds(20);  // from Start to running
  Duration ready_delay =
      std::chrono::milliseconds(500);  // from running to ready, when the pod has a readiness probe
  std::set<std::string> images = {"env:default"};
  std::string data_folder = "/fake";
  bool write_logs = false;  // write `data_folder`/pods/<uid>/log, for tests that read it
};

class FakeRuntime final : public Runtime {
 public:
  // One run of a payload, for checkers: nothing may run twice.
  struct Run {
    std::string uid, namespace_name, name;
    Time started;
    std::optional<Time> ended;
  };

  FakeRuntime(async::Executor& executor, FakeRuntimeOptions options = {});
  ~FakeRuntime() override;

  async::Task<Result<Tenant>> EnsureTenant(std::string id) override;
  async::Task<Result<void>> Start(PodRun run) override;
  async::Task<Result<void>> Stop(std::string uid, Duration grace) override;
  async::Task<Result<void>> Remove(std::string uid, bool keep_log) override;
  async::Task<Result<std::vector<PodState>>> List() override;
  void OnChange(std::function<void(const PodState&)> callback) override;
  std::string LogPath(const std::string& uid) const override;

  // As kill -9 of the pod's supervisor: the pod is lost. False when it does not run.
  bool KillPod(const std::string& uid);
  // As the kernel's kill of the payload, for want of memory or not: it exits with 137.
  bool KillPayload(const std::string& uid, bool out_of_memory);
  // While false, calls fail with kUnavailable and nobody hears of changes; pods go on. True again: all are
  // told.
  void SetReachable(bool reachable);

  const std::vector<Run>& runs() const { return runs_; }
  // Payloads that run at this moment.
  std::vector<std::string> running() const;

 private:
  struct Pod;
  void Settle();
  void Arm();
  Mono NextEvent() const;
  void Step(Pod& pod, Mono at);
  void PayloadStarts(Pod& pod, Mono at);
  void PayloadEnds(Pod& pod, Mono at, int exit_code, int signal, std::string message);
  void Finish(Pod& pod, PodPhase phase, Mono at);
  void Changed(const Pod& pod);
  void TellAll();
  void Log(const Pod& pod, const std::string& text, Mono at) const;
  Time Wall(Mono at) const;

  async::Executor& executor_;
  const FakeRuntimeOptions options_;
  std::map<std::string, std::unique_ptr<Pod>> pods_;
  std::map<std::string, uint32_t> tenants_;
  std::vector<Run> runs_;
  std::function<void(const PodState&)> callback_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  async::TimerId timer_ = 0;
  bool reachable_ = true;
};

}  // namespace cubeplane::engine
