#include "engine/fake_runtime.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/node/spec.h"

namespace cubeplane::engine {
namespace {

constexpr Duration kRestartMin = std::chrono::seconds(1);
constexpr Duration kRestartMax = std::chrono::minutes(5);
constexpr Duration kRestartForget = std::chrono::minutes(10);
constexpr uint32_t kFirstUid = 1'900'000'000;

std::string EnvOf(const PodRun& run, const std::string& key) {
  for (const auto& [name, value] : run.env) {
    if (name == key) return value;
  }
  return "";
}

std::optional<Duration> SecondsOf(const PodRun& run, const std::string& key) {
  const std::string text = EnvOf(run, key);
  if (text.empty()) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(strtod(text.c_str(), nullptr)));
}

Error Unreachable() { return Error(Code::kUnavailable, "the node process cannot be reached"); }

}  // namespace

struct FakeRuntime::Pod {
  PodRun run;
  PodState state;
  std::optional<Mono> start, ready, end, term, kill;  // what happens next, and when
  Mono running_since{};
  int failures = 0;
  bool stopping = false;
  std::optional<size_t> current_run;  // in runs_, while the payload runs

  bool over() const { return state.phase == PodPhase::kExited || state.phase == PodPhase::kLost; }
};

FakeRuntime::FakeRuntime(async::Executor& executor, FakeRuntimeOptions options)
    : executor_(executor), options_(std::move(options)) {}

FakeRuntime::~FakeRuntime() { *alive_ = false; }

Time FakeRuntime::Wall(Mono at) const { return executor_.clock().Now() - (executor_.clock().MonoNow() - at); }

// Lets everything happen that is due, in the order of time; then waits for what comes next.
void FakeRuntime::Settle() {
  const Mono now = executor_.clock().MonoNow();
  for (Mono next = NextEvent(); next <= now; next = NextEvent()) {
    for (auto& [uid, pod] : pods_) Step(*pod, next);
  }
  Arm();
}

Mono FakeRuntime::NextEvent() const {
  Mono next = Mono::max();
  for (const auto& [uid, pod] : pods_) {
    for (const auto& event : {pod->start, pod->ready, pod->end, pod->term, pod->kill}) {
      if (event) next = std::min(next, *event);
    }
  }
  return next;
}

void FakeRuntime::Arm() {
  executor_.Cancel(timer_);
  const Mono next = NextEvent();
  if (next == Mono::max()) return;
  timer_ = executor_.PostAt(next, [this, alive = alive_] {
    if (*alive) Settle();
  });
}

void FakeRuntime::Step(Pod& pod, Mono at) {
  const auto due = [&](std::optional<Mono>& event) {
    if (!event || *event > at) return false;
    event.reset();
    return true;
  };
  if (due(pod.start)) return PayloadStarts(pod, at);
  if (due(pod.ready)) {
    pod.state.ready = true;
    Changed(pod);
  }
  if (due(pod.end))
    return PayloadEnds(pod, at, atoi(EnvOf(pod.run, "FAKE_EXIT").c_str()), 0, EnvOf(pod.run, "FAKE_MESSAGE"));
  if (due(pod.term)) return PayloadEnds(pod, at, 128 + SIGTERM, SIGTERM, EnvOf(pod.run, "FAKE_MESSAGE"));
  if (due(pod.kill)) return PayloadEnds(pod, at, 137, SIGKILL, "did not end within its grace and was killed");
}

void FakeRuntime::PayloadStarts(Pod& pod, Mono at) {
  pod.current_run = runs_.size();
  runs_.push_back({pod.run.uid, pod.run.namespace_name, pod.run.name, Wall(at), std::nullopt});
  pod.running_since = at;
  pod.state.phase = PodPhase::kRunning;
  pod.state.started_at = Wall(at);
  pod.state.message.clear();
  pod.state.ready = !pod.run.readiness;
  if (pod.run.readiness) pod.ready = at + options_.ready_delay;
  if (const auto seconds = SecondsOf(pod.run, "FAKE_SECONDS")) pod.end = at + *seconds;
  Log(pod, "started", at);
  Changed(pod);
}

void FakeRuntime::PayloadEnds(Pod& pod, Mono at, int exit_code, int signal, std::string message) {
  if (pod.current_run) runs_[*pod.current_run].ended = Wall(at);
  pod.current_run.reset();
  pod.start = pod.ready = pod.end = pod.term = pod.kill = std::nullopt;
  pod.state.exit_code = exit_code;
  pod.state.signal = signal;
  pod.state.message = std::move(message);
  if (!pod.run.restart || pod.stopping) return Finish(pod, PodPhase::kExited, at);
  if (at - pod.running_since >= kRestartForget) pod.failures = 0;
  const Duration wait = std::min(kRestartMax, kRestartMin * (int64_t{1} << std::min(pod.failures, 20)));
  ++pod.failures;
  ++pod.state.restarts;
  pod.start = at + wait;
  pod.state.phase = PodPhase::kStarting;
  pod.state.ready = false;
  pod.state.finished_at = Wall(at);
  pod.state.message =
      "ended with exit code " + std::to_string(exit_code) + "; starts again in " + FormatDuration(wait);
  Changed(pod);
}

void FakeRuntime::Finish(Pod& pod, PodPhase phase, Mono at) {
  if (pod.current_run) runs_[*pod.current_run].ended = Wall(at);
  pod.current_run.reset();
  pod.start = pod.ready = pod.end = pod.term = pod.kill = std::nullopt;
  pod.state.phase = phase;
  pod.state.ready = false;
  pod.state.finished_at = Wall(at);
  pod.state.door_socket.clear();
  Log(pod, "ended", at);
  Changed(pod);
}

async::Task<Result<Tenant>> FakeRuntime::EnsureTenant(std::string id) {
  if (!reachable_) co_return Fail(Unreachable());
  if (!node::IsSafeName(id)) co_return Fail(Code::kInvalid, "tenant id '" + id + "' is not allowed");
  const uint32_t next = kFirstUid + static_cast<uint32_t>(tenants_.size());
  const uint32_t uid = tenants_.emplace(id, next).first->second;
  co_return Tenant{id, uid, options_.data_folder + "/projects/" + id};
}

async::Task<Result<void>> FakeRuntime::Start(PodRun run) {
  if (!reachable_) co_return Fail(Unreachable());
  auto checked = node::CheckRun(run);
  CO_RETURN_IF_ERROR(checked);
  Settle();
  if (pods_.contains(run.uid)) co_return Result<void>();
  if (!options_.images.contains(run.image)) {
    co_return Fail(Code::kInvalid, "the image '" + run.image + "' is not on this machine");
  }
  auto pod = std::make_unique<Pod>();
  pod->state.uid = run.uid;
  if (run.door) pod->state.door_socket = options_.data_folder + "/run/" + run.uid + "/door";
  pod->run = std::move(run);
  pod->start = executor_.clock().MonoNow() + options_.start_delay;
  Pod& started = *pod;
  pods_.emplace(started.run.uid, std::move(pod));
  Changed(started);
  Arm();
  co_return Result<void>();
}

async::Task<Result<void>> FakeRuntime::Stop(std::string uid, Duration grace) {
  if (!reachable_) co_return Fail(Unreachable());
  Settle();
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second->over()) co_return Result<void>();
  Pod& pod = *found->second;
  const Mono now = executor_.clock().MonoNow();
  pod.stopping = true;
  if (!pod.current_run) {
    Finish(pod, PodPhase::kExited, now);
    co_return Result<void>();
  }
  const Mono obeys = now + SecondsOf(pod.run, "FAKE_TERM_SECONDS").value_or(Duration(0));
  pod.term = pod.term ? std::min(*pod.term, obeys) : obeys;
  pod.kill = pod.kill ? std::min(*pod.kill, now + grace) : now + grace;
  Arm();
  co_return Result<void>();
}

async::Task<Result<void>> FakeRuntime::Remove(std::string uid, bool keep_log) {
  if (!reachable_) co_return Fail(Unreachable());
  Settle();
  const auto found = pods_.find(uid);
  if (found != pods_.end() && found->second->current_run) {
    runs_[*found->second->current_run].ended = executor_.clock().Now();
  }
  pods_.erase(uid);
  if (options_.write_logs && !keep_log) {
    std::error_code ignored;
    std::filesystem::remove_all(std::filesystem::path(LogPath(uid)).parent_path(), ignored);
  }
  Arm();
  co_return Result<void>();
}

async::Task<Result<std::vector<PodState>>> FakeRuntime::List() {
  if (!reachable_) co_return Fail(Unreachable());
  Settle();
  std::vector<PodState> states;
  for (const auto& [uid, pod] : pods_) states.push_back(pod->state);
  co_return states;
}

void FakeRuntime::OnChange(std::function<void(const PodState&)> callback) {
  callback_ = std::move(callback);
  TellAll();
  // Anew: the timer may have been among what a killed process left undone.
  Arm();
}

std::string FakeRuntime::LogPath(const std::string& uid) const {
  return options_.data_folder + "/pods/" + uid + "/log";
}

bool FakeRuntime::KillPod(const std::string& uid) {
  Settle();
  const auto found = pods_.find(uid);
  if (found == pods_.end() || found->second->over()) return false;
  Pod& pod = *found->second;
  pod.state.exit_code = 137;
  pod.state.signal = SIGKILL;
  pod.state.message = "the pod's supervisor was killed, and its processes with it";
  Finish(pod, PodPhase::kLost, executor_.clock().MonoNow());
  return true;
}

bool FakeRuntime::KillPayload(const std::string& uid, bool out_of_memory) {
  Settle();
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second->current_run) return false;
  Pod& pod = *found->second;
  pod.state.oom_killed = out_of_memory;
  PayloadEnds(pod, executor_.clock().MonoNow(), 137, SIGKILL,
              out_of_memory ? "was killed: it used more than its memory limit" : "was killed");
  Arm();
  return true;
}

void FakeRuntime::SetReachable(bool reachable) {
  reachable_ = reachable;
  if (reachable) TellAll();
}

std::vector<std::string> FakeRuntime::running() const {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : pods_) {
    if (pod->current_run) uids.push_back(uid);
  }
  return uids;
}

// Later, on the executor, as news from another process comes.
void FakeRuntime::Changed(const Pod& pod) {
  executor_.Post([this, alive = alive_, state = pod.state] {
    if (*alive && reachable_ && callback_) callback_(state);
  });
}

void FakeRuntime::TellAll() {
  Settle();
  for (const auto& [uid, pod] : pods_) Changed(*pod);
}

void FakeRuntime::Log(const Pod& pod, const std::string& text, Mono at) const {
  if (!options_.write_logs) return;
  const std::filesystem::path path = LogPath(pod.run.uid);
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream(path, std::ios::app) << FormatTime(Wall(at)) << " stdout F " << pod.run.name << ": " << text
                                     << "\n";
}

}  // namespace cubeplane::engine
