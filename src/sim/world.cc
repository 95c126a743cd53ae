#include "sim/world.h"

#include <cstdlib>
#include <filesystem>

#include "controller/workload/decide.h"

namespace cubeplane::sim {
namespace {

namespace workload = controller::workload;
using workload::Step;

constexpr int kSettleRounds = 20'000;  // timers that may fire until all has ended
constexpr size_t kMaxRequests = 40;    // workloads of one run

// A folder that goes with the run. In memory where the machine has such a place: thousands of syncs.
class Folder {
 public:
  Folder() {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    std::string name = (memory ? "/dev/shm" : "/tmp") + std::string("/cubeplane-sim-XXXXXX");
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
    std::filesystem::create_directory(path_ + "/logs");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

workload::Plan DecideWithPlant(Plant plant, const model::Workload& object, const workload::Seen& seen,
                               Time now) {
  workload::Seen view = seen;
  if (plant == Plant::kTrustsTheCache) view.absence_confirmed = view.absence_confirmed || view.pod.IsNull();
  workload::Plan plan = workload::Decide(object, view, now);
  if (plant == Plant::kReleasesEarly && !plan.steps.empty() &&
      (plan.steps[0] == Step::kStopPod || plan.steps[0] == Step::kScaleDown)) {
    plan.end.phase = model::Phase::kStopped;
    plan.end.proof = "asked for";
    plan.steps.push_back(Step::kEnd);
  }
  return plan;
}

class World {
 public:
  explicit World(const Settings& settings)
      : settings_(settings),
        random_(settings.seed),
        process_random_(settings.seed * 7919 + 1),
        executor_(clock_),
        runtime_(executor_) {}

  Report Run() {
    Boot();
    ApplyProject("4");
    for (int step = 0; step < settings_.steps && Going(); ++step) {
      OneStep();
      if (step % 5 == 0) Check(false);
    }
    Settle();
    Check(Going());
    process_.reset();
    executor_.Clear();
    report_.violations = checks_.violations();
    for (const auto& run : runtime_.runs()) report_.runs += run.uid.empty() ? 0 : 1;
    return std::move(report_);
  }

 private:
  bool Going() const { return checks_.violations().empty(); }
  void Trace(const std::string& text) { report_.trace += FormatTime(clock_.Now()) + " " + text + "\n"; }

  void Boot() {
    auto decide = [plant = settings_.plant](const model::Workload& object, const workload::Seen& seen,
                                            Time now) { return DecideWithPlant(plant, object, seen, now); };
    process_ = std::make_unique<Process>(
        ProcessParts{executor_, clock_, process_random_, runtime_, faults_, folder_.path(), decide});
    executor_.RunUntilIdle();
    Trace("boot " + process_->trouble());
    if (!process_->booted()) report_.violations.push_back("does not boot: " + process_->trouble());
  }

  void Kill() {
    ++report_.kills;
    Trace("kill");
    process_.reset();
    executor_.Clear();
    Boot();
  }

  void OneStep() {
    const uint64_t dice = random_.Below(1000);
    if (dice < 12) {
      Kill();
    } else if (dice < 60) {
      Submit();
    } else if (dice < 90) {
      StopOrDelete();
    } else if (dice < 100) {
      ApplyProject(std::to_string(1 + random_.Below(6)));
    } else if (dice < 110) {
      LosePod();
    } else if (dice < 125) {
      ChangeFaults();
    } else if (!executor_.RunOne()) {
      executor_.AdvanceToNextTimer();
    } else {
      // A kill may come between any two callbacks, so run only a few at a time.
      for (uint64_t more = random_.Below(30); more > 0 && executor_.RunOne(); --more) {
      }
    }
  }

  void ChangeFaults() {
    const bool calm = random_.Below(3) == 0;
    faults_ = calm ? FaultRates{}
                   : FaultRates{random_.Below(100), random_.Below(100), random_.Below(60), random_.Below(60),
                                random_.Below(30)};
    if (random_.Below(4) == 0) runtime_.SetReachable(random_.Below(3) != 0);
    Trace(calm ? "calm" : "faults");
  }

  // ---- People

  state::Call NewCall() {
    state::Call call;
    call.user = "ann";
    call.request_id = std::to_string(++calls_);
    return call;
  }

  void ApplyProject(const std::string& cores) {
    model::Project project;
    project.metadata.name = "demo";
    project.spec.members = {{.user = "ann", .role = model::Role::kLead}};
    model::Binding binding;
    binding.quota = {{"requests.cpu", *Quantity::Parse(cores)},
                     {"limits.cpu", *Quantity::Parse(cores)},
                     {"requests.memory", *Quantity::Parse("64Gi")},
                     {"limits.memory", *Quantity::Parse("64Gi")}};
    project.spec.bindings = {binding};
    Trace("quota " + cores);
    process_->requests().Spawn(Apply(process_->ledger(), NewCall(), std::move(project)));
  }
  static async::Task<void> Apply(state::Ledger& ledger, state::Call call, model::Project project) {
    auto applied = co_await ledger.ApplyProject(std::move(call), std::move(project), std::nullopt);
  }

  void Submit() {
    if (names_.size() >= kMaxRequests) return;
    model::Workload wanted;
    wanted.kind = random_.Below(3) == 0 ? model::WorkloadKind::kNotebook : model::WorkloadKind::kTrainingJob;
    wanted.metadata.project = "demo";
    wanted.metadata.name =
        (wanted.kind == model::WorkloadKind::kNotebook ? "nb-" : "job-") + std::to_string(names_.size());
    wanted.spec.resources.cpu = Quantity::FromMilli(static_cast<int64_t>(500 * (1 + random_.Below(4))));
    wanted.spec.resources.memory = *Quantity::Parse("1Gi");
    if (wanted.kind == model::WorkloadKind::kTrainingJob) {
      wanted.spec.command = {"train"};
      wanted.spec.retries = static_cast<int32_t>(random_.Below(3));
      wanted.spec.env = {{"FAKE_SECONDS", std::to_string(1 + random_.Below(120))},
                         {"FAKE_EXIT", random_.Below(3) == 0 ? "1" : "0"}};
    } else {
      wanted.spec.env = {{"FAKE_TERM_SECONDS", std::to_string(random_.Below(5))}};
    }
    const state::WorkloadKey key{wanted.kind, "demo", wanted.metadata.name};
    names_.push_back(key);
    Trace("submit " + key.name + " " + wanted.spec.resources.cpu.ToString());
    process_->requests().Spawn(Create(this, process_.get(), NewCall(), std::move(wanted)));
  }
  static async::Task<void> Create(World* world, Process* process, state::Call call, model::Workload wanted) {
    const std::string name = wanted.metadata.name;
    auto created = co_await process->ledger().CreateWorkload(std::move(call), std::move(wanted));
    world->Trace(name + (created ? " accepted" : " refused: " + created.error().message));
    if (created) {
      ++world->report_.accepted;
      if (!world->asked_to_go_.contains(name)) world->checks_.Accepted(created->object);
    } else {
      ++world->report_.refused;
    }
  }

  void StopOrDelete() {
    if (names_.empty()) return;
    const state::WorkloadKey key = names_[random_.Below(names_.size())];
    const uint64_t what = random_.Below(4);
    Trace((what == 0 ? "delete " : what == 1 ? "start " : "stop ") + key.name);
    process_->requests().Spawn(Act(this, process_.get(), NewCall(), key, what));
  }
  static async::Task<void> Act(World* world, Process* process, state::Call call, state::WorkloadKey key,
                               uint64_t what) {
    const state::WorkloadPtr found = process->ledger().Find(key);
    if (what == 0) {
      // From here on it may go at any time, also when the answer is lost, or its creation is still under way.
      world->asked_to_go_.insert(key.name);
      if (found) world->checks_.MayGo(found->metadata.uid);
      auto gone = co_await process->ledger().DeleteWorkload(std::move(call), key);
    } else if (what == 1) {
      auto started = co_await process->ledger().StartWorkload(std::move(call), key);
    } else {
      auto stopped = co_await process->ledger().StopWorkload(std::move(call), key);
    }
  }

  void LosePod() {
    const std::vector<std::string> running = runtime_.running();
    if (running.empty()) return;
    const std::string& uid = running[random_.Below(running.size())];
    Trace("supervisor killed");
    runtime_.KillPod(uid);
  }

  // ---- The end

  void Settle() {
    faults_ = {};
    runtime_.SetReachable(true);
    Trace("settle");
    if (!Going()) return;
    ApplyProject("6");
    executor_.RunUntilIdle();
    for (int round = 0; round < kSettleRounds && Going(); ++round) {
      if (round % 500 == 0) {
        if (AllEnded()) return;
        StopNotebooks();
      }
      executor_.AdvanceToNextTimer();
    }
  }
  bool AllEnded() {
    for (const state::WorkloadPtr& one : process_->ledger().Workloads()) {
      if (!model::IsTerminal(one->status.phase) || one->metadata.deleted) return false;
    }
    return runtime_.running().empty();
  }
  void StopNotebooks() {
    for (const state::WorkloadPtr& one : process_->ledger().Workloads()) {
      if (one->kind != model::WorkloadKind::kNotebook || model::IsTerminal(one->status.phase)) continue;
      if (one->status.phase == model::Phase::kStopping) continue;
      const state::WorkloadKey key{one->kind, one->metadata.project, one->metadata.name};
      process_->requests().Spawn(Act(this, process_.get(), NewCall(), key, 2));
    }
  }

  void Check(bool at_end) {
    if (!process_->booted()) return;
    process_->requests().Spawn(Look(this, process_.get(), at_end));
    if (at_end) executor_.RunUntilIdle();
  }
  static async::Task<void> Look(World* world, Process* process, bool at_end) {
    auto look = [world, at_end](storage::Reader& reader) -> Result<void> {
      RETURN_IF_ERROR(world->checks_.Moment(reader));
      if (at_end) return world->checks_.End(reader);
      return {};
    };
    Result<void> done = co_await process->store().Read(std::move(look));
    if (!done) world->Trace("check failed: " + done.error().message);
  }

  const Settings settings_;
  SeededRandom random_, process_random_;
  ManualClock clock_;
  async::ManualExecutor executor_;
  engine::FakeRuntime runtime_;
  FaultRates faults_;
  Folder folder_;
  Checks checks_{runtime_};
  Report report_;
  std::unique_ptr<Process> process_;
  std::vector<state::WorkloadKey> names_;
  std::set<std::string> asked_to_go_;
  int calls_ = 0;
};

}  // namespace

Report Simulate(const Settings& settings) { return World(settings).Run(); }

}  // namespace cubeplane::sim
