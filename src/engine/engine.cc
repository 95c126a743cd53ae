#include "engine/engine.h"

#include <algorithm>
#include <cctype>

#include "async/group.h"
#include "engine/api/handler.h"
#include "engine/claims.h"
#include "engine/events.h"
#include "engine/gc.h"
#include "engine/kubelet.h"
#include "engine/namespaces.h"
#include "engine/node_object.h"
#include "engine/quota.h"
#include "engine/scheduler_loop.h"
#include "engine/services.h"
#include "engine/statefulset.h"

namespace cubeplane::engine {

std::string NodeNameOf(std::string_view host) {
  std::string name;
  for (const char c : host.substr(0, 63)) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) || c == '.' ? static_cast<char>(std::tolower(byte)) : '-';
  }
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  while (!name.empty() && edge(name.front())) name.erase(name.begin());
  while (!name.empty() && edge(name.back())) name.pop_back();
  return name.empty() ? "node" : name;
}

struct Engine::Impl {
  Impl(EngineOptions options, async::Executor& executor, Random& random, Runtime& runtime)
      : options(std::move(options)), executor(executor), random(random), runtime(runtime), tasks(executor) {}

  Result<void> Start();
  void BuildLoops();
  Result<void> Bootstrap();
  void Wake();
  void Run();

  const EngineOptions options;
  async::Executor& executor;
  Random& random;
  Runtime& runtime;
  std::shared_ptr<Store> store;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<ApiHandler> handler;
  std::vector<std::unique_ptr<Controller>> controllers;
  Kubelet* kubelet = nullptr;    // one of them
  std::shared_ptr<Impl*> alive;  // posted callbacks hold it weakly
  bool scheduled = false;
  bool stopping = false;
  async::TaskGroup tasks;  // last: its coroutines go before what they use
};

Result<void> Engine::Impl::Start() {
  ASSIGN_OR_RETURN(store, Store::Open(options.database, options.limits));
  cluster =
      std::make_unique<Cluster>(Cluster{*store, executor.clock(), random, NodeNameOf(options.node.name)});
  alive = std::make_shared<Impl*>(this);
  BuildLoops();
  handler = std::make_unique<ApiHandler>(store, *cluster, *registry, executor, runtime, options.credentials);
  RETURN_IF_ERROR(Bootstrap());
  RETURN_IF_ERROR(EnsureNode(*cluster, options.node));
  for (const Kind& kind : Kinds()) {
    for (const ObjectPtr& object : store->List(kind.Qualified())) {
      const Change change{Change::Type::kAdded, store->revision(), KeyOf(kind, *object), object, nullptr};
      for (const auto& controller : controllers) controller->Observe(change);
    }
  }
  store->Subscribe([this](const Change& change) {
    if (change.object == nullptr) return;  // the store closes
    for (const auto& controller : controllers) controller->Observe(change);
    Wake();
  });
  kubelet->Connect();
  Wake();
  return {};
}

void Engine::Impl::BuildLoops() {
  auto quotas = std::make_unique<Quotas>(*cluster);
  registry = std::make_unique<Registry>(
      *cluster, [admission = quotas.get()](const Kind& kind, json::Value& object, const json::Value* before) {
        return admission->Admit(kind, object, before);
      });
  recorder = std::make_unique<Recorder>(*cluster, *registry);
  controllers.push_back(std::make_unique<Namespaces>(*cluster, *registry));
  controllers.push_back(std::make_unique<Claims>(*cluster));
  controllers.push_back(std::make_unique<Services>(*cluster, *registry));
  controllers.push_back(std::make_unique<GarbageCollector>(*cluster, *registry));
  const Host host{executor, tasks, [this] { Wake(); }};
  controllers.push_back(std::move(quotas));
  controllers.push_back(std::make_unique<StatefulSets>(*cluster, *registry, *recorder, host));
  controllers.push_back(std::make_unique<SchedulerLoop>(*cluster, *recorder));
  auto made = std::make_unique<Kubelet>(*cluster, *recorder, runtime, host, options.node.devices);
  kubelet = made.get();
  controllers.push_back(std::move(made));
}

// What a cluster has from its first moment on.
Result<void> Engine::Impl::Bootstrap() {
  const Kind& namespaces = *FindKindByResource("namespaces");
  for (const char* name : {"kube-system", "default", "kube-public"}) {
    if (store->Get(namespaces.Key("", name))) continue;
    const auto made =
        registry->Create(namespaces, "", json::Object{{"metadata", json::Object{{"name", name}}}}, {});
    if (!made) return Fail(Code::kInternal, "the engine's first objects: " + made.error().message);
  }
  return {};
}

void Engine::Impl::Wake() {
  if (scheduled || stopping) return;
  scheduled = true;
  executor.Post([weak = std::weak_ptr<Impl*>(alive)] {
    if (const auto impl = weak.lock()) (*impl)->Run();
  });
}

void Engine::Impl::Run() {
  scheduled = false;
  if (stopping) return;
  for (const auto& controller : controllers) controller->Reconcile();
}

Engine::Engine(EngineOptions options, async::Executor& executor, Random& random, Runtime& runtime)
    : impl_(std::make_unique<Impl>(std::move(options), executor, random, runtime)) {}

Engine::~Engine() {
  impl_->alive.reset();
  if (impl_->store) impl_->store->Close();
}

Result<void> Engine::Start() { return impl_->Start(); }

async::Task<void> Engine::Stop() {
  impl_->stopping = true;
  co_await impl_->tasks.Join();
  if (impl_->store) impl_->store->Close();
}

http::Handler& Engine::api() { return *impl_->handler; }

std::string Engine::ClusterUid() const {
  const ObjectPtr system = impl_->store->Get({"namespaces", "", "kube-system"});
  return system ? UidOf(*system) : "";
}

}  // namespace cubeplane::engine
