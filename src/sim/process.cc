#include "sim/process.h"

#include "storage/sqlite/sqlite.h"

namespace cubeplane::sim {
namespace {

constexpr char kToken[] = "a-token-of-the-simulation";
constexpr char kInstance[] = "019a0000-0000-7000-8000-00000000513a";

}  // namespace

Process::Process(ProcessParts parts)
    : parts_(std::move(parts)),
      pool_(parts_.executor, 0),
      door_key_("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
      requests_(parts_.executor) {
  requests_.Spawn(Boot());
}

Process::~Process() = default;

async::Task<void> Process::Boot() {
  auto store = storage::OpenSqlite(parts_.executor, parts_.clock,
                                   {.path = parts_.folder + "/ledger.db", .inline_mode = true});
  if (!store) {
    trouble_ = store.error().message;
    co_return;
  }
  store_ = std::move(*store);
  ledger_ = std::make_unique<state::Ledger>(*store_, parts_.clock, parts_.random, state::Ledger::Settings{});
  Result<void> loaded = co_await ledger_->Load();
  if (!loaded) {
    trouble_ = loaded.error().message;
    co_return;
  }
  engine::EngineOptions options;
  options.database = parts_.folder + "/engine.db";
  options.node = {
      .name = "sim", .cpu_milli = 8000, .memory_bytes = int64_t{32} << 30, .labels = {{"org", "public"}}};
  options.credentials = {{.token = kToken, .user = "cubeplane"}};
  engine_ =
      std::make_unique<engine::Engine>(std::move(options), parts_.executor, parts_.random, parts_.runtime);
  if (Result<void> started = engine_->Start(); !started) {
    trouble_ = started.error().message;
    co_return;
  }
  transport_ = std::make_unique<FaultTransport>(engine_->api(), parts_.faults, parts_.random);
  kube_ = std::make_unique<kube::Client>(*transport_, [] { return std::string(kToken); });
  cluster_ = std::make_unique<controller::Cluster>("local", *kube_, parts_.executor, parts_.random,
                                                   Duration::zero());
  cluster_->Start();
  projects_ = std::make_unique<controller::project::Controller>(*ledger_, *cluster_, kInstance, parts_.clock,
                                                                parts_.executor, parts_.random);
  admission_ = std::make_unique<controller::admission::Controller>(*ledger_, *cluster_, parts_.executor,
                                                                   parts_.random);
  workloads_ = std::make_unique<controller::workload::Controller>(
      controller::workload::Parts{.ledger = *ledger_,
                                  .store = *store_,
                                  .cluster = *cluster_,
                                  .entry = entry_,
                                  .door_key = door_key_,
                                  .executor = parts_.executor,
                                  .pool = pool_,
                                  .clock = parts_.clock,
                                  .random = parts_.random,
                                  .instance = kInstance,
                                  .domain = "localhost",
                                  .log_folder = parts_.folder + "/logs",
                                  .decide = parts_.decide});
  routes_ = std::make_unique<controller::route::Controller>(*ledger_, *cluster_, entry_, door_key_,
                                                            "localhost", parts_.executor, parts_.random);
  projects_->Start();
  admission_->Start();
  workloads_->Start();
  routes_->Start();
  booted_ = true;
}

}  // namespace cubeplane::sim
