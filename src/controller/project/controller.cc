#include "controller/project/controller.h"

#include "controller/names.h"

namespace cubeplane::controller::project {
namespace {

const kube::Resource& ResourceOf(const std::string& kind) {
  if (kind == "Namespace") return kube::kNamespaces;
  if (kind == "LimitRange") return kube::kLimitRanges;
  if (kind == "ResourceQuota") return kube::kResourceQuotas;
  return kube::kPersistentVolumeClaims;
}

json::Value Copy(const std::shared_ptr<const json::Value>& object) {
  return object ? *object : json::Value();
}

}  // namespace

Controller::Controller(state::Ledger& ledger, Cluster& cluster, std::string instance, const Clock& clock,
                       async::Executor& executor, Random& random)
    : ledger_(ledger),
      cluster_(cluster),
      instance_(std::move(instance)),
      clock_(clock),
      loop_("project", executor, random, [this](std::string key) { return Reconcile(std::move(key)); }) {}

Controller::~Controller() {
  if (listener_ != 0) ledger_.RemoveListener(listener_);
}

void Controller::Start() {
  listener_ = ledger_.OnChange([this](const state::WatchEvent& event) {
    if (event.kind == "Project") loop_.Mark(event.name);
  });
  // Any of our objects that changes in the cluster is looked at again: "proj-nlp" marks "nlp".
  auto mark_namespace = [this](const std::string& name_space, const std::string& name) {
    const std::string& name_of = name_space.empty() ? name : name_space;
    if (name_of.starts_with("proj-")) loop_.Mark(name_of.substr(5));
  };
  for (kube::Informer* informer : {&cluster_.namespaces(), &cluster_.quotas(), &cluster_.limit_ranges(),
                                   &cluster_.claims(), &cluster_.service_accounts()}) {
    informer->OnChange(mark_namespace);
  }
  for (const state::ProjectPtr& project : ledger_.Projects()) loop_.Mark(project->metadata.name);
  loop_.Start(2);
}

async::Task<void> Controller::Stop() { co_await loop_.Stop(); }

Seen Controller::Observe(const std::string& project) {
  const std::string name_space = NamespaceOf(project);
  return {.caches_complete = cluster_.Synced(),
          .name_space = Copy(cluster_.namespaces().Get("", name_space)),
          .limit_range = Copy(cluster_.limit_ranges().Get(name_space, LimitRangeName(project))),
          .quota = Copy(cluster_.quotas().Get(name_space, QuotaName(project))),
          .claim = Copy(cluster_.claims().Get(name_space, std::string(kDataClaim))),
          .service_account = Copy(cluster_.service_accounts().Get(name_space, "default"))};
}

async::Task<Outcome> Controller::Reconcile(std::string name) {
  const state::ProjectPtr project = ledger_.FindProject(name);
  if (!project) co_return Outcome{};
  const model::Binding* binding = nullptr;
  for (const model::Binding& one : project->spec.bindings) {
    if (one.cluster == cluster_.name()) binding = &one;
  }
  if (!binding) co_return Outcome{};
  const Plan plan = Decide(*project, *binding, instance_, Observe(name));
  for (const Change& change : plan.changes) {
    Result<void> applied = co_await Apply(change);
    if (!applied) {
      model::Reason reason{"cluster_refused", {{"message", applied.error().message}}};
      co_await Report(name, false, std::move(reason));
      co_return Outcome{Fail(applied.error()), {}};
    }
  }
  Result<void> reported = co_await Report(name, plan.ready, plan.reason);
  if (!reported) co_return Outcome{std::move(reported), {}};
  // Not ready and nothing to do: the caches are about to change; a missed event would cost this much.
  if (!plan.ready) co_return Outcome{{}, std::chrono::seconds(1)};
  co_return Outcome{};
}

async::Task<Result<void>> Controller::Apply(Change change) {
  const kube::Resource& resource = ResourceOf(change.kind);
  const std::string name_space = change.object.At("metadata.namespace").AsString();
  if (change.verb == Verb::kCreate) {
    Result<json::Value> made = co_await cluster_.client().Create(resource, name_space, change.object);
    if (!made && made.error().code != Code::kAlreadyExists) {
      co_return Fail(made.error().Wrap("creating " + change.kind + " in " + cluster_.name()));
    }
    co_return Result<void>();
  }
  Result<json::Value> updated = co_await cluster_.client().Update(resource, name_space, change.object);
  if (!updated) co_return Fail(updated.error().Wrap("updating " + change.kind + " in " + cluster_.name()));
  co_return Result<void>();
}

async::Task<Result<void>> Controller::Report(std::string project, bool ready, model::Reason reason) {
  const Time now = clock_.Now();
  auto update = [ready, reason, now](model::ProjectStatus& status) {
    for (model::Condition& condition : status.conditions) {
      if (condition.type != "Ready") continue;
      if (condition.status != ready) condition.since = now;
      condition.status = ready;
      condition.reason = reason.code;
      condition.params = reason.params;
      return;
    }
    status.conditions.push_back(
        {.type = "Ready", .status = ready, .reason = reason.code, .params = reason.params, .since = now});
  };
  Result<void> done = co_await ledger_.UpdateProjectStatus(std::move(project), std::move(update));
  co_return done;
}

}  // namespace cubeplane::controller::project
