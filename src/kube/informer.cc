#include "kube/informer.h"

#include "async/backoff.h"
#include "async/sync.h"
#include "log/log.h"

namespace cubeplane::kube {
namespace {

// A watch that lives shorter than this counts as a failure: without it, a server that ends each watch at once
// would be asked without pause.
constexpr Duration kShortWatch = std::chrono::seconds(5);
// The server ends a watch after kWatchTime; one that still stands this much later hangs on a dead connection.
constexpr int64_t kWatchTimeS = 300;
constexpr Duration kWatchGrace = std::chrono::seconds(30);

}  // namespace

Informer::Informer(Client& client, Resource resource, std::string name_space, async::Executor& executor,
                   Random& random, InformerOptions options)
    : client_(client),
      resource_(std::move(resource)),
      name_space_(std::move(name_space)),
      executor_(executor),
      random_(random),
      options_(std::move(options)),
      group_(executor) {}

void Informer::Start() { group_.Spawn(Run()); }

async::Task<void> Informer::Stop() {
  group_.Stop();
  if (watch_) watch_->Close();
  co_await group_.Join();
}

async::Task<void> Informer::Run() {
  async::Backoff backoff(options_.min_backoff, options_.max_backoff, random_);
  const std::stop_token stop = group_.token();
  while (!stop.stop_requested()) {
    watched_ = {};
    Result<void> step;
    if (resource_version_.empty()) {
      step = co_await ListOnce();
    }
    if (step) {
      step = co_await WatchOnce();
    }
    if (stop.stop_requested()) co_return;
    if (!step) {
      // The version is no longer kept: a new list is the only truth.
      if (step.error().code == Code::kGone) resource_version_.clear();
      if (!trouble_ || trouble_->message != step.error().message) {
        log::Warn("the cache of " + resource_.plural + " lost its cluster",
                  {{"error", step.error().message}});
      }
      trouble_ = step.error();
    }
    if (watched_ >= kShortWatch) {
      backoff.Reset();
      if (step) continue;
    }
    const bool go_on = co_await async::Sleep(executor_, backoff.Next(), stop);
    if (!go_on) co_return;
  }
}

async::Task<Result<void>> Informer::ListOnce() {
  ListOptions options;
  options.label_selector = options_.label_selector;
  Result<ListPage> list = co_await client_.ListAll(resource_, name_space_, options);
  CO_RETURN_IF_ERROR(list);
  std::map<Key, Pointer> before = std::move(objects_);
  objects_.clear();
  std::vector<Key> changed;
  for (json::Value& item : list->items) {
    const json::Value& metadata = item["metadata"];
    Key key(metadata["namespace"].AsString(), metadata["name"].AsString());
    const auto known = before.find(key);
    const bool same = known != before.end() &&
                      (*known->second)["metadata"]["resourceVersion"] == metadata["resourceVersion"] &&
                      (*known->second)["metadata"]["uid"] == metadata["uid"];
    if (!same) changed.push_back(key);
    objects_[key] = std::make_shared<const json::Value>(std::move(item));
    before.erase(key);
  }
  for (const auto& [key, gone] : before) changed.push_back(key);
  resource_version_ = list->resource_version;
  synced_ = true;
  last_seen_ = executor_.clock().MonoNow();
  trouble_.reset();
  for (const Key& key : changed) Notify(key);
  co_return Result<void>();
}

async::Task<Result<void>> Informer::WatchOnce() {
  WatchOptions options;
  options.label_selector = options_.label_selector;
  options.resource_version = resource_version_;
  options.timeout_seconds = kWatchTimeS;
  Result<std::unique_ptr<WatchStream>> opened = co_await client_.Watch(resource_, name_space_, options);
  CO_RETURN_IF_ERROR(opened);
  watch_ = std::move(*opened);
  // Stop closes watch_, and this frame may be the last to hold it.
  const std::shared_ptr<WatchStream> watch = watch_;
  if (group_.token().stop_requested()) co_return Result<void>();
  const Mono opened_at = executor_.clock().MonoNow();
  // Ends with this frame, however that ends.
  struct Alarm {
    async::Executor& executor;
    const async::TimerId timer;
    ~Alarm() { executor.Cancel(timer); }
  } alarm{executor_, executor_.PostAt(opened_at + std::chrono::seconds(kWatchTimeS) + kWatchGrace,
                                      [watch] { watch->Close(); })};
  Result<void> end = co_await Follow(watch);
  watch_.reset();
  watched_ = executor_.clock().MonoNow() - opened_at;
  co_return end;
}

async::Task<Result<void>> Informer::Follow(std::shared_ptr<WatchStream> watch) {
  for (;;) {
    Result<std::optional<WatchEvent>> event = co_await watch->Next();
    CO_RETURN_IF_ERROR(event);
    if (!*event) co_return Result<void>();
    last_seen_ = executor_.clock().MonoNow();
    trouble_.reset();
    json::Value& object = (*event)->object;
    const json::Value& metadata = object["metadata"];
    resource_version_ = metadata["resourceVersion"].AsString();
    if ((*event)->type == "BOOKMARK") continue;
    const Key key(metadata["namespace"].AsString(), metadata["name"].AsString());
    if ((*event)->type == "DELETED") {
      objects_.erase(key);
    } else {
      objects_[key] = std::make_shared<const json::Value>(std::move(object));
    }
    Notify(key);
  }
}

void Informer::Notify(const Key& key) {
  for (const Handler& handler : handlers_) handler(key.first, key.second);
}

Informer::Pointer Informer::Get(const std::string& name_space, const std::string& name) const {
  const auto found = objects_.find(Key(name_space, name));
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<Informer::Pointer> Informer::List(const std::string& name_space) const {
  std::vector<Pointer> list;
  for (const auto& [key, object] : objects_) {
    if (name_space.empty() || key.first == name_space) list.push_back(object);
  }
  return list;
}

}  // namespace cubeplane::kube
