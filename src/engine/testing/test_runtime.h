// A runtime that does what the test says: pods change state only when told.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/runtime.h"

namespace cubeplane::engine {

class TestRuntime final : public Runtime {
 public:
  explicit TestRuntime(const Clock& clock) : clock_(clock) {}

  async::Task<Result<Tenant>> EnsureTenant(std::string id) override {
    if (away_) co_return Fail(Code::kUnavailable, "the node process is away");
    co_return Tenant{id, 100'000, "/data/projects/" + id};
  }
  async::Task<Result<void>> Start(PodRun run) override {
    if (away_) co_return Fail(Code::kUnavailable, "the node process is away");
    ++starts_[run.uid];
    if (run.image != "env:default") co_return Fail(Code::kInvalid, "unknown image " + run.image);
    if (!pods_.contains(run.uid)) pods_[run.uid].uid = run.uid;
    runs_[run.uid] = std::move(run);
    co_return Result<void>();
  }
  async::Task<Result<void>> Stop(std::string uid, Duration grace) override {
    if (away_) co_return Fail(Code::kUnavailable, "the node process is away");
    stops_[uid] = grace;
    co_return Result<void>();
  }
  async::Task<Result<void>> Remove(std::string uid, bool keep_log) override {
    if (away_) co_return Fail(Code::kUnavailable, "the node process is away");
    pods_.erase(uid);
    removed_.push_back(uid);
    co_return Result<void>();
  }
  async::Task<Result<std::vector<PodState>>> List() override {
    if (away_) co_return Fail(Code::kUnavailable, "the node process is away");
    std::vector<PodState> states;
    for (const auto& [uid, state] : pods_) states.push_back(state);
    co_return states;
  }
  void OnChange(std::function<void(const PodState&)> callback) override { callback_ = std::move(callback); }
  std::string LogPath(const std::string& uid) const override { return log_folder_ + uid + ".log"; }

  // ---- what a test does with pods ----
  void Run(const std::string& uid, bool ready = true) {
    PodState& state = pods_.at(uid);
    state.phase = PodPhase::kRunning;
    state.ready = ready;
    state.started_at = clock_.Now();
    const auto& run = runs_.at(uid);
    if (run.door) state.door_socket = "/run/doors/" + uid;
    callback_(state);
  }
  void Exit(const std::string& uid, int code, const std::string& message = "", bool oom = false) {
    PodState& state = pods_.at(uid);
    state.phase = PodPhase::kExited;
    state.ready = false;
    state.exit_code = code;
    state.oom_killed = oom;
    state.message = message;
    state.finished_at = clock_.Now();
    callback_(state);
  }
  void Lose(const std::string& uid) {
    PodState& state = pods_.at(uid);
    state.phase = PodPhase::kLost;
    state.ready = false;
    callback_(state);
  }

  const Clock& clock_;
  bool away_ = false;
  std::string log_folder_;
  std::map<std::string, PodState> pods_;
  std::map<std::string, PodRun> runs_;
  std::map<std::string, int> starts_;
  std::map<std::string, Duration> stops_;
  std::vector<std::string> removed_;
  std::function<void(const PodState&)> callback_;
};

}  // namespace cubeplane::engine
