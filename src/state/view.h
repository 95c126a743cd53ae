// The living objects in memory, as of the last commit, and who listens to them.
//
// Threading: on the control thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::state {

class View {
 public:
  // Takes everything from one moment of the store. Called in a read, on another thread, before anything else
  // uses the view.
  Result<void> Load(storage::Reader& reader);
  // Follows a commit, in order, and tells the listeners of each change once all of the commit is in.
  void Apply(const std::vector<storage::FeedEvent>& events);

  ProjectPtr FindProject(std::string_view name) const;
  std::vector<ProjectPtr> Projects() const;
  WorkloadPtr Find(const WorkloadKey& key) const;
  WorkloadPtr FindByUid(std::string_view uid) const;
  std::vector<WorkloadPtr> Workloads(std::string_view project) const;
  std::vector<BindingUse> Bindings(std::string_view project) const;
  // Projects in which something waits, by name.
  std::vector<std::string> ProjectsWaiting() const;
  int64_t version() const { return version_; }

  size_t OnChange(std::function<void(const WatchEvent&)> listener);
  void RemoveListener(size_t id) { listeners_.erase(id); }
  // The events after `version` when all of them are still in memory; nullopt: ask the store.
  std::optional<std::vector<WatchEvent>> Recent(int64_t version, size_t limit) const;

 private:
  struct Entry {
    WorkloadPtr workload;
    int64_t arrival = 0;       // order of acceptance
    std::string held_cluster;  // where its reservation counts; empty: none
    model::ResourceList usage;
  };
  void Put(const storage::FeedEvent& event);
  void Remove(const storage::FeedEvent& event);
  void PutWorkload(model::Workload workload, int64_t arrival);
  void Count(Entry& entry);
  void Uncount(Entry& entry);

  static constexpr size_t kRecent = 1024;

  std::map<std::string, ProjectPtr, std::less<>> projects_;
  std::unordered_map<std::string, Entry> by_uid_;
  std::map<WorkloadKey, std::string> by_key_;
  std::map<std::pair<std::string, int64_t>, std::string> by_arrival_;        // (project, arrival) -> uid
  std::map<std::string, size_t> waiting_;                                    // project -> how many
  std::map<std::pair<std::string, std::string>, model::ResourceList> used_;  // (project, cluster)
  int64_t last_arrival_ = 0;
  int64_t version_ = 0;
  std::deque<WatchEvent> recent_;
  std::map<size_t, std::function<void(const WatchEvent&)>> listeners_;
  size_t next_listener_ = 1;
};

// A feed event as the API serves it. kInternal when the store's text is not an object.
Result<WatchEvent> ToWatchEvent(const storage::FeedEvent& event);

}  // namespace cubeplane::state
