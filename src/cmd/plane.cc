#include "cmd/plane.h"

#include <sched.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/exit_codes.h"
#include "cli/texts.h"
#include "cmd/up.h"
#include "engine/pki.h"
#include "json/json.h"
#include "log/log.h"
#include "storage/sqlite/sqlite.h"

namespace cubeplane::cmd {
namespace {

constexpr uint16_t kDefaultPort = 8080;
constexpr char kDomain[] = "localhost";
constexpr char kClusterName[] = "local";
constexpr size_t kPoolThreads = 4;
constexpr size_t kMaxEndpointFile = 64u << 10;

engine::NodeShape ThisMachine(const std::string& data) {
  engine::NodeShape node;
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  node.name = engine::NodeNameOf(host);
  cpu_set_t cpus;
  const int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  node.cpu_milli = int64_t{count} * 1000;
  node.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // What is free where pods write, as of this start.
  struct statvfs disk{};
  if (statvfs(data.c_str(), &disk) == 0)
    node.ephemeral_bytes = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  // One machine does everything, for everybody.
  for (const char* label : {"cpu", "train", "notebook", "service"}) node.labels[label] = "true";
  node.labels["org"] = "public";
  return node;
}

}  // namespace

Plane::Plane(const UpOptions& options, const Places& places, const Clock& clock, Random& random,
             async::Loop& loop)
    : options_(options),
      places_(places),
      clock_(clock),
      random_(random),
      loop_(loop),
      pool_(loop, kPoolThreads) {}

Plane::~Plane() = default;

uint16_t Plane::LastPort(const std::string& which) const {
  const Result<std::string> text = ReadFile(places_.endpoint_file(), kMaxEndpointFile);
  if (!text) return 0;
  const Result<json::Value> value = json::Parse(*text);
  if (!value) return 0;
  return static_cast<uint16_t>((*value)[which].AsInt());
}

async::Task<Result<void>> Plane::Start() {
  Result<void> store = co_await StartStore();
  CO_RETURN_IF_ERROR(store);
  Result<void> engine = co_await StartEngine();
  CO_RETURN_IF_ERROR(engine);
  Result<void> gateway = co_await StartGateway();
  CO_RETURN_IF_ERROR(gateway);
  StartControllers();
  Result<void> servers = StartServers();
  CO_RETURN_IF_ERROR(servers);
  Result<void> written = WriteEndpoint();
  co_return written;
}

async::Task<Result<void>> Plane::StartStore() {
  storage::SqliteOptions options;
  options.path = places_.data + "/ledger.db";
  auto store = storage::OpenSqlite(loop_, clock_, options);
  if (!store) co_return Fail(store.error().Wrap("opening the ledger"));
  store_ = std::move(*store);
  ledger_ = std::make_unique<state::Ledger>(*store_, clock_, random_, state::Ledger::Settings{});
  Result<void> loaded = co_await ledger_->Load();
  if (!loaded) co_return Fail(loaded.error().Wrap("reading the ledger"));
  auth_ = std::make_unique<auth::Auth>(*store_, loop_, clock_, random_, auth::Settings{});
  Result<std::optional<std::string>> password = co_await auth_->Bootstrap();
  if (!password) co_return Fail(password.error().Wrap("making the first user"));
  new_password_ = password->value_or("");
  co_return Result<void>();
}

async::Task<Result<void>> Plane::StartEngine() {
  Result<std::string> token = KeyFile(places_, "engine-token", random_);
  CO_RETURN_IF_ERROR(token);
  Result<std::string> admin = KeyFile(places_, "engine-admin-token", random_);
  CO_RETURN_IF_ERROR(admin);
  Result<std::string> door = KeyFile(places_, "door", random_);
  CO_RETURN_IF_ERROR(door);
  engine_token_ = *token;
  admin_token_ = *admin;
  door_key_ = std::make_unique<controller::DoorKey>(*door);

  auto runtime = std::make_unique<engine::node::Client>(loop_, places_.node_socket(), places_.data);
  runtime_ = std::move(runtime);

  engine::EngineOptions options;
  options.database = places_.data + "/engine.db";
  options.node = ThisMachine(places_.data);
  options.credentials = {{.token = engine_token_, .user = "cubeplane"},
                         {.token = admin_token_, .user = "system:admin"}};
  engine_ = std::make_unique<engine::Engine>(std::move(options), loop_, random_, *runtime_);
  Result<void> started = engine_->Start();
  if (!started) co_return Fail(started.error().Wrap("starting the embedded engine"));

  to_engine_ =
      std::make_unique<http::InProcessTransport>(engine_->api(), http::Peer{.listener = "in-process"});
  kube_ = std::make_unique<kube::Client>(*to_engine_, [this] { return engine_token_; });
  // The engine lives in this process: a create that we have not heard of can never land later.
  cluster_ = std::make_unique<controller::Cluster>(kClusterName, *kube_, loop_, random_, Duration::zero());
  co_return Result<void>();
}

async::Task<Result<void>> Plane::StartGateway() {
  const bool must = options_.port != 0;
  const uint16_t last = LastPort("port");
  port_ = must ? options_.port : last != 0 ? last : kDefaultPort;
  for (;;) {
    gateway::GatewayOptions options{.run_folder = places_.gateway_run(),
                                    .state_folder = places_.data + "/gateway",
                                    .port = port_,
                                    .platform_socket = places_.platform_socket(),
                                    .domain = kDomain,
                                    .instance = places_.short_instance};
    gateway_ = std::make_unique<gateway::Gateway>(
        options, loop_, random_, [](const std::string& text) { log::Warn(text, {{"part", "gateway"}}); });
    Result<void> started = co_await gateway_->Start();
    if (started) break;
    if (must || started.error().code != Code::kAlreadyExists) co_return started;
    // Nobody asked for this very port: another one serves as well, and is said.
    Result<uint16_t> other = FreePort(static_cast<uint16_t>(port_ + 1));
    CO_RETURN_IF_ERROR(other);
    log::Warn("the port is taken, another one is used",
              {{"taken", std::to_string(port_)}, {"used", std::to_string(*other)}});
    port_ = *other;
  }
  url_ = "http://" + std::string(kDomain) + ":" + std::to_string(port_);
  co_return Result<void>();
}

void Plane::StartControllers() {
  cluster_->Start();
  projects_ = std::make_unique<controller::project::Controller>(*ledger_, *cluster_, places_.instance, clock_,
                                                                loop_, random_);
  admission_ = std::make_unique<controller::admission::Controller>(*ledger_, *cluster_, loop_, random_);
  workloads_ = std::make_unique<controller::workload::Controller>(
      controller::workload::Parts{.ledger = *ledger_,
                                  .store = *store_,
                                  .cluster = *cluster_,
                                  .entry = *gateway_,
                                  .door_key = *door_key_,
                                  .executor = loop_,
                                  .pool = pool_,
                                  .clock = clock_,
                                  .random = random_,
                                  .instance = places_.instance,
                                  .domain = kDomain,
                                  .log_folder = places_.data + "/logs"});
  routes_ = std::make_unique<controller::route::Controller>(*ledger_, *cluster_, *gateway_, *door_key_,
                                                            kDomain, loop_, random_);
  projects_->Start();
  admission_->Start();
  workloads_->Start();
  routes_->Start();
}

Result<void> Plane::StartServers() {
  logs_ = std::make_unique<apiserver::ClusterLogs>(
      [this](const std::string& cluster) { return cluster == kClusterName ? kube_.get() : nullptr; }, *store_,
      pool_);
  apiserver::Settings settings;
  settings.domain = kDomain;
  if (options_.operator_uid >= 0) settings.operator_uid = static_cast<unsigned>(options_.operator_uid);
  if (!places_.root) settings.operator_uid = geteuid();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  settings.hostname = host;
  api_ = std::make_unique<apiserver::ApiServer>(apiserver::Parts{*ledger_, *store_, *auth_, *gateway_, *logs_,
                                                                 *logs_, loop_, clock_, random_, &metrics_},
                                                std::move(settings));
  metrics_.GaugeFrom("cubeplane_workloads_running", "Workloads that run now.",
                     [this] { return Count(model::Phase::kRunning); });
  metrics_.GaugeFrom("cubeplane_workloads_waiting", "Workloads that wait for quota.",
                     [this] { return Count(model::Phase::kWaiting); });
  metrics_.GaugeFrom("cubeplane_gateway_healthy", "1 while HAProxy answers.",
                     [this] { return gateway_->Health()["healthy"].AsBool() ? 1.0 : 0.0; });
  metrics_.GaugeFrom("cubeplane_workloads_failing_steps", "Workloads whose last step in the cluster failed.",
                     [this] { return static_cast<double>(workloads_->failing().size()); });
  api_http_ = std::make_unique<http::Server>(loop_, *api_);
  // Anybody on the machine may connect; what they may do, their token or the kernel's word on who they are
  // decides.
  const http::ListenOptions api{.name = "api", .unix_path = places_.api_socket(), .unix_mode = 0666};
  const http::ListenOptions platform{
      .name = "platform", .unix_path = places_.platform_socket(), .unix_mode = 0600};
  for (const http::ListenOptions& listen : {api, platform}) RETURN_IF_ERROR(api_http_->Listen(listen));
  api_http_->Start();
  return ServeKubernetes();
}

double Plane::Count(model::Phase phase) const {
  const auto all = ledger_->Workloads();
  return static_cast<double>(
      std::ranges::count_if(all, [phase](const auto& one) { return one->status.phase == phase; }));
}

Result<void> Plane::ServeKubernetes() {
  ASSIGN_OR_RETURN(const engine::Pki pki, engine::LoadOrMakePki(places_.data + "/keys", clock_));
  kubernetes_http_ = std::make_unique<http::Server>(loop_, engine_->api());
  http::ListenOptions listen{.name = "engine",
                             .address = "127.0.0.1",
                             .port = LastPort("kubernetes_port"),
                             .tls_cert_pem = pki.server_cert_pem,
                             .tls_key_pem = pki.server_key_pem};
  Result<uint16_t> port = kubernetes_http_->Listen(listen);
  if (!port && listen.port != 0) {
    listen.port = 0;  // the old one is taken; kubectl's file is written anew anyway
    port = kubernetes_http_->Listen(listen);
  }
  if (!port) return Fail(port.error().Wrap("opening the engine's Kubernetes API"));
  kubernetes_port_ = *port;
  kubernetes_http_->Start();
  const std::string server = "https://127.0.0.1:" + std::to_string(kubernetes_port_);
  return WriteFile(places_.data + "/keys/kubeconfig",
                   engine::Kubeconfig(server, pki.ca_cert_pem, admin_token_), 0600);
}

Result<void> Plane::WriteEndpoint() const {
  const json::Value endpoint = json::Object{{"api_socket", places_.api_socket()},
                                            {"url", url_},
                                            {"port", int64_t{port_}},
                                            {"kubernetes_port", int64_t{kubernetes_port_}},
                                            {"instance", places_.instance}};
  return WriteFile(places_.endpoint_file(), json::WritePretty(endpoint) + "\n", 0644);
}

async::Task<void> Plane::Stop() {
  // No new requests first, then those who act, then what they act on.
  if (kubernetes_http_) kubernetes_http_->Stop();
  if (api_) api_->Stop();
  if (api_http_) api_http_->Stop();
  if (routes_) co_await routes_->Stop();
  if (workloads_) co_await workloads_->Stop();
  if (admission_) co_await admission_->Stop();
  if (projects_) co_await projects_->Stop();
  if (cluster_) co_await cluster_->Stop();
  if (engine_) co_await engine_->Stop();
  if (gateway_) co_await gateway_->Stop(false);
}

namespace {

// Waits for TERM or INT on a thread of its own and wakes the loop. The signals are blocked in every thread.
class SignalWait {
 public:
  SignalWait(async::Loop& loop, async::OneShot<bool> stop) {
    sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this, stop] {
      int signal = 0;
      sigwait(&signals_, &signal);
      stop.Set(true);
    });
  }
  ~SignalWait() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  sigset_t signals_;
  std::thread thread_;
};

async::Task<int> Live(Plane& plane, async::OneShot<bool> stop) {
  Result<void> started = co_await plane.Start();
  int code = 0;
  if (started) {
    if (!plane.new_password().empty()) {
      std::fprintf(
          stderr, "%s\n",
          cli::Say(cli::LanguageOfEnvironment(), cli::Text::kUpPassword, {{"password", plane.new_password()}})
              .c_str());
    }
    std::fprintf(stdout, "ready %s\n", plane.url().c_str());
    std::fflush(stdout);
    co_await stop.Wait();
  } else {
    std::fprintf(stderr, "cubeplane: %s\n", SentenceOf(started.error()).c_str());
    code = cli::ExitFor(HttpStatus(started.error().code), started.error().reason);
  }
  co_await plane.Stop();
  co_return code;
}

}  // namespace

int RunPlane(const UpOptions& options, const Places& places) {
  static SystemClock clock;
  static SystemRandom random;
  log::SetSink(std::make_shared<log::StreamSink>(stderr, clock, log::Form::kText, log::Level::kInfo));
  async::Loop loop(clock);
  async::OneShot<bool> stop(loop);
  SignalWait signals(loop, stop);
  Plane plane(options, places, clock, random, loop);
  return async::RunToEnd(loop, Live(plane, stop));
}

}  // namespace cubeplane::cmd
