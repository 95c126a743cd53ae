// A ledger over a store in memory or on a file, on virtual time: what the ledger's tests share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/group.h"
#include "async/manual_executor.h"
#include "base/random.h"
#include "state/ledger.h"
#include "storage/sqlite/sqlite.h"

namespace cubeplane::state::testing {

inline Quantity Q(const char* text) { return Quantity::Parse(text).value(); }

class World {
 public:
  explicit World(std::string path = ":memory:", Ledger::Settings settings = {})
      : path_(std::move(path)), settings_(std::move(settings)) {
    Open();
  }
  // As a new process finds it: everything not on disk is gone.
  void Reopen() {
    ledger.reset();
    store.reset();
    executor.Clear();
    Open();
  }

  template <class T>
  T Run(async::Task<T> task) {
    std::optional<T> value;
    group.Spawn(Keep(std::move(task), value));
    executor.RunUntilIdle();
    EXPECT_TRUE(value.has_value()) << "the task did not finish";
    return std::move(*value);
  }
  template <class T>
  T Read(std::function<Result<T>(storage::Reader&)> look) {
    std::optional<T> value;
    auto done = Run(store->Read([&](storage::Reader& reader) -> Result<void> {
      ASSIGN_OR_RETURN(value, look(reader));
      return {};
    }));
    EXPECT_TRUE(done) << done.error().message;
    return std::move(*value);
  }

  Call CallOf(std::string user, std::string key = "", std::string body = "body") {
    return {.user = std::move(user),
            .request_id = "r",
            .idempotency_key = std::move(key),
            .method = "POST",
            .path = "/p",
            .body_sha256 = std::move(body)};
  }
  model::Project ProjectOf(const std::string& name, model::ResourceList quota) {
    model::Project project;
    project.metadata.name = name;
    model::Binding binding;
    binding.quota = std::move(quota);
    project.spec.bindings.push_back(std::move(binding));
    return project;
  }
  void MakeProject(const std::string& name, model::ResourceList quota) {
    auto made = Run(ledger->ApplyProject(CallOf("admin"), ProjectOf(name, std::move(quota)), std::nullopt));
    ASSERT_TRUE(made) << made.error().message;
  }
  model::Workload WorkloadOf(model::WorkloadKind kind, const std::string& name, const char* cpu = "1") {
    model::Workload workload;
    workload.kind = kind;
    workload.metadata.name = name;
    workload.metadata.project = "nlp";
    workload.spec.resources.cpu = Q(cpu);
    workload.spec.resources.memory = Q("1Gi");
    if (kind == model::WorkloadKind::kTrainingJob) workload.spec.command = {"python", "train.py"};
    return workload;
  }
  model::Workload Notebook(const std::string& name, const char* cpu = "1") {
    return WorkloadOf(model::WorkloadKind::kNotebook, name, cpu);
  }
  model::Workload Job(const std::string& name, const char* cpu = "1") {
    return WorkloadOf(model::WorkloadKind::kTrainingJob, name, cpu);
  }
  Result<Changed<model::Workload>> Create(model::Workload workload, const std::string& user = "ann") {
    return Run(ledger->CreateWorkload(CallOf(user), std::move(workload)));
  }
  std::string MustCreate(model::Workload workload) {
    auto made = Create(std::move(workload));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->object.metadata.uid : "";
  }
  std::vector<WorkloadPtr> Admit() {
    auto admitted = Run(ledger->AdmitWaiting());
    EXPECT_TRUE(admitted) << admitted.error().message;
    return admitted ? std::move(*admitted) : std::vector<WorkloadPtr>();
  }
  Result<void> End(const std::string& uid, int32_t attempt, model::Phase phase, bool retry = false) {
    return Run(ledger->EndAttempt(uid, attempt,
                                  {.phase = phase, .proof = "seen", .at = clock.Now(), .retry = retry}));
  }
  Quantity Used(const std::string& resource) {
    const auto uses = ledger->Bindings("nlp");
    if (uses.empty()) return {};
    const auto found = uses.front().used.find(resource);
    return found == uses.front().used.end() ? Quantity() : found->second;
  }
  // The same from the rows.
  Quantity Reserved(const std::string& resource) {
    Quantity sum;
    for (const auto& row : Read<std::vector<storage::ReservationRow>>(
             [](storage::Reader& reader) { return reader.LiveReservations(""); })) {
      if (row.resource == resource) sum = Quantity::Sum(sum, row.amount).value();
    }
    return sum;
  }
  model::Phase PhaseOf(const std::string& uid) { return ledger->FindByUid(uid)->status.phase; }

  ManualClock clock;
  async::ManualExecutor executor{clock};
  SeededRandom random{7};
  async::TaskGroup group{executor};
  std::unique_ptr<storage::Store> store;
  std::unique_ptr<Ledger> ledger;

 private:
  void Open() {
    auto opened = storage::OpenSqlite(executor, clock, {.path = path_, .inline_mode = true});
    ASSERT_TRUE(opened) << opened.error().message;
    store = std::move(*opened);
    ledger = std::make_unique<Ledger>(*store, clock, random, settings_);
    auto loaded = Run(ledger->Load());
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  template <class T>
  static async::Task<void> Keep(async::Task<T> task, std::optional<T>& value) {
    T result = co_await std::move(task);
    value.emplace(std::move(result));
  }

  std::string path_;
  Ledger::Settings settings_;
};

}  // namespace cubeplane::state::testing
