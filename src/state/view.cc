#include "state/view.h"

#include "json/json.h"
#include "log/log.h"
#include "model/codec.h"
#include "scheduler/pod_resources.h"
#include "state/rows.h"

namespace cubeplane::state {
namespace {

constexpr size_t kLoadPage = 1000;

WorkloadKey KeyOf(const model::Workload& workload) {
  return {workload.kind, workload.metadata.project, workload.metadata.name};
}

void Unreadable(const Error& error) {
  log::Error("an object of the store cannot be read; it is left out", {{"error", error.message}});
}

}  // namespace

Result<WatchEvent> ToWatchEvent(const storage::FeedEvent& event) {
  auto value = json::Parse(event.object.json);
  if (!value)
    return Fail(Code::kInternal, "event " + std::to_string(event.seq) + ": " + value.error().message);
  value->MakeObject()["metadata"].Set("resourceVersion", std::to_string(event.seq));
  return WatchEvent{event.seq,        event.deleted,        event.object.kind,
                    event.object.uid, event.object.project, event.object.name,
                    std::move(*value)};
}

Result<void> View::Load(storage::Reader& reader) {
  ASSIGN_OR_RETURN(version_, reader.LastSeq());
  std::map<std::string, model::ResourceList> reserved;
  ASSIGN_OR_RETURN(const auto rows, reader.LiveReservations(""));
  for (const storage::ReservationRow& row : rows) {
    RETURN_IF_ERROR(scheduler::AddTo(reserved[row.workload_uid], {{row.resource, row.amount}}));
  }
  std::string after;
  for (;;) {
    ASSIGN_OR_RETURN(const auto objects, reader.ListObjects("", "", kLoadPage, after));
    for (const storage::ObjectRow& object : objects) {
      if (object.kind == kProjectKind) {
        ASSIGN_OR_RETURN(model::Project project, ParseProjectRow(object));
        projects_[object.name] = std::make_shared<const model::Project>(std::move(project));
        continue;
      }
      ASSIGN_OR_RETURN(model::Workload workload, ParseWorkloadRow(object));
      ASSIGN_OR_RETURN(const auto row, reader.GetWorkload(object.uid));
      const int64_t arrival = row ? row->arrival : 0;
      last_arrival_ = std::max(last_arrival_, arrival);
      // The ledger's rows and the objects change in one commit; a difference is a bug of ours, or of whoever
      // edited the file.
      if (Holds(workload) != reserved.contains(object.uid))
        log::Error("object and reservations differ", {{"workload", NameOf(workload)}});
      PutWorkload(std::move(workload), arrival);
    }
    if (objects.size() < kLoadPage) return {};
    after = objects.back().uid;
  }
}

void View::Apply(const std::vector<storage::FeedEvent>& events) {
  std::vector<WatchEvent> told;
  for (const storage::FeedEvent& event : events) {
    if (event.deleted) {
      Remove(event);
    } else {
      Put(event);
    }
    version_ = event.seq;
    Result<WatchEvent> watch = ToWatchEvent(event);
    if (!watch) {
      Unreadable(watch.error());
      continue;
    }
    recent_.push_back(*watch);
    if (recent_.size() > kRecent) recent_.pop_front();
    told.push_back(std::move(*watch));
  }
  for (const WatchEvent& event : told) {
    // A listener may remove itself or others.
    std::vector<size_t> ids;
    for (const auto& [id, listener] : listeners_) ids.push_back(id);
    for (size_t id : ids) {
      const auto listener = listeners_.find(id);
      if (listener == listeners_.end()) continue;
      const auto call = listener->second;
      call(event);
    }
  }
}

void View::Put(const storage::FeedEvent& event) {
  if (event.object.kind == kProjectKind) {
    auto project = ParseProjectRow(event.object);
    if (!project) return Unreadable(project.error());
    projects_[event.object.name] = std::make_shared<const model::Project>(std::move(*project));
    return;
  }
  auto workload = ParseWorkloadRow(event.object);
  if (!workload) return Unreadable(workload.error());
  const auto known = by_uid_.find(event.object.uid);
  // A notebook that is started again stands anew at the end of the line, as its row does.
  const bool again = known != by_uid_.end() && model::IsTerminal(known->second.workload->status.phase) &&
                     !model::IsTerminal(workload->status.phase);
  const int64_t arrival = known == by_uid_.end() || again ? ++last_arrival_ : known->second.arrival;
  PutWorkload(std::move(*workload), arrival);
}

void View::PutWorkload(model::Workload workload, int64_t arrival) {
  const std::string uid = workload.metadata.uid;
  const std::string project = workload.metadata.project;
  Entry& entry = by_uid_[uid];
  Uncount(entry);
  if (entry.workload) by_arrival_.erase({project, entry.arrival});
  by_key_[KeyOf(workload)] = uid;
  entry.arrival = arrival;
  by_arrival_[{project, arrival}] = uid;
  entry.workload = std::make_shared<const model::Workload>(std::move(workload));
  Count(entry);
}

void View::Remove(const storage::FeedEvent& event) {
  if (event.object.kind == kProjectKind) {
    projects_.erase(event.object.name);
    return;
  }
  const auto found = by_uid_.find(event.object.uid);
  if (found == by_uid_.end()) return;
  Uncount(found->second);
  by_key_.erase(KeyOf(*found->second.workload));
  by_arrival_.erase({event.object.project, found->second.arrival});
  by_uid_.erase(found);
}

void View::Count(Entry& entry) {
  const model::Workload& workload = *entry.workload;
  if (workload.status.phase == model::Phase::kWaiting) ++waiting_[workload.metadata.project];
  if (!Holds(workload) || workload.status.attempts.empty()) return;
  auto usage = scheduler::WorkloadUsage(workload);
  if (!usage) return Unreadable(usage.error());
  entry.usage = std::move(*usage);
  entry.held_cluster = workload.status.attempts.back().cluster;
  model::ResourceList& used = used_[{workload.metadata.project, entry.held_cluster}];
  if (auto added = scheduler::AddTo(used, entry.usage); !added) Unreadable(added.error());
}

void View::Uncount(Entry& entry) {
  if (!entry.workload) return;
  const model::Workload& workload = *entry.workload;
  if (workload.status.phase == model::Phase::kWaiting) {
    size_t& count = waiting_[workload.metadata.project];
    if (--count == 0) waiting_.erase(workload.metadata.project);
  }
  if (entry.held_cluster.empty()) return;
  model::ResourceList& used = used_[{workload.metadata.project, entry.held_cluster}];
  for (const auto& [key, amount] : entry.usage) {
    if (const auto left = Quantity::Difference(used[key], amount)) used[key] = *left;
  }
  entry.held_cluster.clear();
  entry.usage.clear();
}

ProjectPtr View::FindProject(std::string_view name) const {
  const auto found = projects_.find(name);
  return found == projects_.end() ? nullptr : found->second;
}

std::vector<ProjectPtr> View::Projects() const {
  std::vector<ProjectPtr> all;
  for (const auto& [name, project] : projects_) all.push_back(project);
  return all;
}

WorkloadPtr View::Find(const WorkloadKey& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : FindByUid(found->second);
}

WorkloadPtr View::FindByUid(std::string_view uid) const {
  const auto found = by_uid_.find(std::string(uid));
  return found == by_uid_.end() ? nullptr : found->second.workload;
}

std::vector<WorkloadPtr> View::Workloads(std::string_view project) const {
  std::map<int64_t, WorkloadPtr> ordered;
  const auto begin =
      project.empty() ? by_arrival_.begin() : by_arrival_.lower_bound({std::string(project), INT64_MIN});
  for (auto it = begin; it != by_arrival_.end() && (project.empty() || it->first.first == project); ++it) {
    ordered[it->first.second] = FindByUid(it->second);
  }
  std::vector<WorkloadPtr> all;
  for (auto& [arrival, workload] : ordered) all.push_back(std::move(workload));
  return all;
}

std::vector<BindingUse> View::Bindings(std::string_view project) const {
  std::vector<BindingUse> all;
  for (const auto& [name, object] : projects_) {
    if (!project.empty() && name != project) continue;
    for (const model::Binding& binding : object->spec.bindings) {
      BindingUse use{name, binding.cluster, binding, {}};
      if (const auto used = used_.find({name, binding.cluster}); used != used_.end()) use.used = used->second;
      all.push_back(std::move(use));
    }
  }
  return all;
}

std::vector<std::string> View::ProjectsWaiting() const {
  std::vector<std::string> names;
  for (const auto& [project, count] : waiting_) names.push_back(project);
  return names;
}

size_t View::OnChange(std::function<void(const WatchEvent&)> listener) {
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

std::optional<std::vector<WatchEvent>> View::Recent(int64_t version, size_t limit) const {
  std::vector<WatchEvent> events;
  if (version == version_) return events;
  if (version > version_ || recent_.empty() || recent_.front().seq > version + 1) return std::nullopt;
  for (const WatchEvent& event : recent_) {
    if (event.seq > version && events.size() < limit) events.push_back(event);
  }
  return events;
}

}  // namespace cubeplane::state
