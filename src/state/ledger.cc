#include "state/ledger.h"

#include <algorithm>

#include "json/json.h"
#include "model/codec.h"
#include "model/validate.h"
#include "state/binding_rows.h"
#include "state/impl.h"

// Loading, reading, projects.
namespace cubeplane::state {
namespace {

constexpr Duration kFirstHold = std::chrono::seconds(5), kLongestHold = std::chrono::minutes(5);

std::string SpecText(const model::Project& project) {
  return json::WriteCanonical(model::ToJson(project)["spec"]);
}

bool SameAsStored(const model::Project& sent, const model::Project& stored) {
  return SpecText(sent) == SpecText(stored) && sent.metadata.labels == stored.metadata.labels &&
         sent.metadata.annotations == stored.metadata.annotations;
}

Result<Changed<model::Project>> Replay(const storage::IdempotencyRow& row) {
  ASSIGN_OR_RETURN(const json::Value value, json::Parse(row.answer));
  ASSIGN_OR_RETURN(model::Project project, model::ProjectFromStore(value));
  return Changed<model::Project>{std::move(project), row.status == 201, true, false};
}

Result<Changed<model::Project>> Apply(storage::Txn& txn, const Decision& decision, model::Project project,
                                      std::optional<int64_t> expected) {
  ASSIGN_OR_RETURN(const auto earlier, decision.Earlier(txn));
  if (earlier) return Replay(*earlier);
  model::Metadata& metadata = project.metadata;
  model::ApplyDefaults(project);
  RETURN_IF_ERROR(model::Validate(project));
  ASSIGN_OR_RETURN(const auto row, txn.GetObject(kProjectKind, "", metadata.name));
  std::string before;
  Changed<model::Project> changed;
  if (row) {
    if (expected == 0)
      return Fail(Error(Code::kAlreadyExists, "project_exists", {{"project", metadata.name}},
                        "project " + metadata.name + " is there already"));
    if (expected && *expected != row->resource_version) return Fail(ChangedMeanwhile(metadata.name));
    ASSIGN_OR_RETURN(const model::Project stored, ParseProjectRow(*row));
    if (SameAsStored(project, stored)) return Changed<model::Project>{stored, false, false, true};
    before = SpecText(stored);
    const bool same_spec = before == SpecText(project);
    model::Metadata kept = stored.metadata;
    kept.labels = std::move(metadata.labels);
    kept.annotations = std::move(metadata.annotations);
    kept.generation += same_spec ? 0 : 1;
    metadata = std::move(kept);
    project.status = stored.status;
  } else {
    if (expected && *expected != 0) return Fail(ProjectNotFound(metadata.name));
    RETURN_IF_ERROR(CheckName(txn, kProjectKind, metadata, decision.steady_now, decision.name_retention));
    RETURN_IF_ERROR(ClaimName(txn, kProjectKind, metadata));
    changed.created = true;
  }
  RETURN_IF_ERROR(SaveProject(txn, project));
  RETURN_IF_ERROR(SaveBindings(txn, project));
  RETURN_IF_ERROR(Record(txn, decision.call, decision.conditions.now, changed.created ? "create" : "update",
                         "Project/" + metadata.name, before, SpecText(project)));
  RETURN_IF_ERROR(
      decision.Keep(txn, changed.created ? 201 : 200, json::Write(model::ToJson(project)), metadata.uid));
  changed.object = std::move(project);
  return changed;
}

Result<bool> Delete(storage::Txn& txn, const Decision& decision, const std::string& name) {
  constexpr size_t kCounted = 1000;
  ASSIGN_OR_RETURN(const auto earlier, decision.Earlier(txn));
  if (earlier) return true;
  ASSIGN_OR_RETURN(const model::Project project, ReadProject(txn, name));
  ASSIGN_OR_RETURN(const auto objects, txn.ListObjects("", name, kCounted, ""));
  if (!objects.empty()) {
    return Fail(Error(Code::kConflict, "project_not_empty",
                      {{"project", name}, {"n", std::to_string(objects.size())}},
                      "project " + name + " has " + std::to_string(objects.size()) + " workloads"));
  }
  model::Project bare = project;
  bare.spec.bindings.clear();
  RETURN_IF_ERROR(SaveBindings(txn, bare));
  RETURN_IF_ERROR(txn.DeleteObject(project.metadata.uid));
  RETURN_IF_ERROR(FreeName(txn, kProjectKind, project.metadata, decision.steady_now));
  RETURN_IF_ERROR(Record(txn, decision.call, decision.conditions.now, "delete", "Project/" + name,
                         SpecText(project), ""));
  RETURN_IF_ERROR(decision.Keep(txn, 200, "{}", project.metadata.uid));
  return true;
}

}  // namespace

Conditions Ledger::Impl::ConditionsNow() const {
  Conditions conditions{clock.Now(), settings.node_allocatable, {}, settings.long_wait};
  for (const auto& [uid, hold] : held) {
    if (clock.MonoNow() < hold.until) conditions.held.insert(uid);
  }
  return conditions;
}

void Ledger::Impl::Hold(const std::string& uid) {
  Held& hold = held[uid];
  const Duration wait = std::min(kLongestHold, kFirstHold * (int64_t{1} << std::min(hold.times, 10)));
  hold.until = clock.MonoNow() + wait;
  ++hold.times;
}

void Ledger::Impl::FreeHolds(const std::string& project) {
  for (auto& [uid, hold] : held) {
    const WorkloadPtr workload = view.FindByUid(uid);
    if (workload && workload->metadata.project == project) hold.until = clock.MonoNow();
  }
  std::erase_if(held, [this](const auto& entry) {
    const WorkloadPtr workload = view.FindByUid(entry.first);
    return !workload || model::IsTerminal(workload->status.phase);
  });
}

Ledger::Ledger(storage::Store& store, const Clock& clock, Random& random, Settings settings)
    : impl_(std::make_unique<Impl>(store, clock, random, std::move(settings))) {}
Ledger::~Ledger() = default;

async::Task<Result<void>> Ledger::Load() {
  Impl* impl = impl_.get();
  std::function<Result<void>(storage::Reader&)> look = [impl](storage::Reader& reader) {
    return impl->view.Load(reader);
  };
  Result<void> loaded = co_await impl->store.Read(std::move(look));
  CO_RETURN_IF_ERROR(loaded);
  impl->store.OnCommit(
      [impl, alive = std::weak_ptr<bool>(impl->alive)](const std::vector<storage::FeedEvent>& events) {
        if (!alive.expired()) impl->view.Apply(events);
      });
  co_return Result<void>();
}

ProjectPtr Ledger::FindProject(std::string_view name) const { return impl_->view.FindProject(name); }
std::vector<ProjectPtr> Ledger::Projects() const { return impl_->view.Projects(); }
WorkloadPtr Ledger::Find(const WorkloadKey& key) const { return impl_->view.Find(key); }
WorkloadPtr Ledger::FindByUid(std::string_view uid) const { return impl_->view.FindByUid(uid); }
std::vector<WorkloadPtr> Ledger::Workloads(std::string_view project) const {
  return impl_->view.Workloads(project);
}
std::vector<BindingUse> Ledger::Bindings(std::string_view project) const {
  return impl_->view.Bindings(project);
}
int64_t Ledger::version() const { return impl_->view.version(); }
size_t Ledger::OnChange(std::function<void(const WatchEvent&)> listener) {
  return impl_->view.OnChange(std::move(listener));
}
void Ledger::RemoveListener(size_t id) { impl_->view.RemoveListener(id); }
Ledger::Settings& Ledger::settings() { return impl_->settings; }

async::Task<Result<std::vector<WatchEvent>>> Ledger::EventsAfter(int64_t version, size_t limit) {
  if (auto recent = impl_->view.Recent(version, limit)) co_return std::move(*recent);
  auto events = std::make_shared<std::vector<WatchEvent>>();
  std::function<Result<void>(storage::Reader&)> look = [events, version,
                                                        limit](storage::Reader& reader) -> Result<void> {
    ASSIGN_OR_RETURN(const auto rows, reader.Feed(version, limit));
    for (const storage::FeedEvent& row : rows) {
      ASSIGN_OR_RETURN(WatchEvent event, ToWatchEvent(row));
      events->push_back(std::move(event));
    }
    return {};
  };
  Result<void> read = co_await impl_->store.Read(std::move(look));
  if (!read && read.error().code == Code::kGone)
    co_return Fail(Error(Code::kGone, "version_gone", {}, read.error().message));
  CO_RETURN_IF_ERROR(read);
  co_return std::move(*events);
}

async::Task<Result<Changed<model::Project>>> Ledger::ApplyProject(Call call, model::Project project,
                                                                  std::optional<int64_t> expected_version) {
  model::Metadata& metadata = project.metadata;
  metadata.project.clear();
  metadata.uid = NewUuid(impl_->clock, impl_->random);
  metadata.owner = call.user;
  metadata.created = impl_->clock.Now();
  metadata.deleted.reset();
  metadata.generation = 1;
  project.status = {};
  const bool dry_run = call.dry_run;
  std::function<Result<Changed<model::Project>>(storage::Txn&)> decide =
      [decision = Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow()),
       project = std::move(project),
       expected_version](storage::Txn& txn) { return Apply(txn, decision, project, expected_version); };
  Result<Changed<model::Project>> changed = co_await Commit(impl_->store, dry_run, std::move(decide));
  co_return changed;
}

async::Task<Result<void>> Ledger::DeleteProject(Call call, std::string name) {
  const bool dry_run = call.dry_run;
  std::function<Result<bool>(storage::Txn&)> decide =
      [decision = Decision::Of(impl_->settings, std::move(call), impl_->ConditionsNow(), impl_->SteadyNow()),
       name = std::move(name)](storage::Txn& txn) { return Delete(txn, decision, name); };
  Result<bool> done = co_await Commit(impl_->store, dry_run, std::move(decide));
  CO_RETURN_IF_ERROR(done);
  co_return Result<void>();
}

async::Task<Result<void>> Ledger::Audit(Call call, std::string action, std::string object,
                                        json::Value after) {
  std::function<Result<void>(storage::Txn&)> change = [call = std::move(call), now = impl_->clock.Now(),
                                                       action = std::move(action), object = std::move(object),
                                                       after = json::Write(after)](storage::Txn& txn) {
    return Record(txn, call, now, action, object, "", after);
  };
  Result<void> done = co_await impl_->store.Write(std::move(change));
  co_return done;
}

}  // namespace cubeplane::state
