// A cache of one kind that follows the cluster: list, then watch, and again whenever the watch is lost.
//
// It never gives up, backs off with jitter (also after watches that end at once), and never takes a partial
// list for the whole. Reads give the last known objects; LastSeen says how old that knowledge is.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/group.h"
#include "base/random.h"
#include "kube/client.h"

namespace cubeplane::kube {

struct InformerOptions {
  std::string label_selector;
  Duration min_backoff = std::chrono::milliseconds(100);
  Duration max_backoff = std::chrono::seconds(30);
};

// Threading: on the control thread. Lifetime: Stop before destruction.
class Informer {
 public:
  // `name_space` empty: all namespaces.
  Informer(Client& client, Resource resource, std::string name_space, async::Executor& executor,
           Random& random, InformerOptions options = {});
  void Start();
  async::Task<void> Stop();

  // The first list is complete.
  bool Synced() const { return synced_; }
  // Monotonic time of the last sign of life: a list, an event or a bookmark.
  Mono LastSeen() const { return last_seen_; }
  // The last failure, until something succeeds.
  const std::optional<Error>& trouble() const { return trouble_; }

  using Pointer = std::shared_ptr<const json::Value>;
  Pointer Get(const std::string& name_space, const std::string& name) const;  // null when unknown
  std::vector<Pointer> List(const std::string& name_space = "") const;        // empty: all
  // Called after each change of the cache with the key of the object (also deleted ones). Handlers only mark
  // keys.
  using Handler = std::function<void(const std::string& name_space, const std::string& name)>;
  void OnChange(Handler handler) { handlers_.push_back(std::move(handler)); }

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  async::Task<void> Run();
  async::Task<Result<void>> ListOnce();
  async::Task<Result<void>> WatchOnce();
  async::Task<Result<void>> Follow(std::shared_ptr<WatchStream> watch);
  void Notify(const Key& key);

  Client& client_;
  const Resource resource_;
  const std::string name_space_;
  async::Executor& executor_;
  Random& random_;
  const InformerOptions options_;
  async::TaskGroup group_;
  std::vector<Handler> handlers_;
  std::map<Key, Pointer> objects_;
  std::string resource_version_;
  bool synced_ = false;
  Mono last_seen_{};
  std::optional<Error> trouble_;
  std::shared_ptr<WatchStream> watch_;
  Duration watched_{};  // how long the last watch lived
};

}  // namespace cubeplane::kube
