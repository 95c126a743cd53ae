#include "model/codec.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "model/validate.h"

namespace cubeplane::model {
namespace {

json::Value Yaml(std::string_view text) {
  auto documents = json::ParseYaml(text);
  EXPECT_TRUE(documents) << (documents ? "" : documents.error().message);
  return documents && !documents->empty() ? documents->front() : json::Value();
}

constexpr char kProject[] = R"(
apiVersion: cubeplane.io/v1
kind: Project
metadata: { name: nlp, labels: { team: research } }
spec:
  displayName: NLP 组
  contacts: [ { name: nlp-oncall, email: nlp-oncall@example.com } ]
  members:  [ { user: researcher-1, role: member }, { user: lead-1, role: lead } ]
  bindings:
  - cluster: bj1
    resourceGroup: alg-a
    pools: [ { name: a100, limits: { requests.nvidia.com/gpu: 8 } } ]
    quota: { requests.cpu: 64, limits.cpu: 96, requests.memory: 512Gi, limits.memory: 768Gi,
             requests.nvidia.com/gpu: 8, requests.ephemeral-storage: 1Ti, limits.ephemeral-storage: 1Ti,
             requests.storage: 2Ti, persistentvolumeclaims: 40 }
    limitRange: { default: {cpu: 8, memory: 32Gi}, defaultRequest: {cpu: 1, memory: 4Gi},
                  max: {cpu: 16, memory: 64Gi}, min: {cpu: 500m, memory: 1Gi} }
  cohort: research
  weight: 2
)";

constexpr char kJob[] = R"yaml(
apiVersion: cubeplane.io/v1
kind: TrainingJob
metadata: { name: bert-ft, project: nlp }
spec:
  image: registry.local/train:1.4
  command: [ python, train.py ]
  env: [ { name: EPOCHS, value: "3" } ]
  resources: { cpu: 8, memory: 64Gi, gpu: "2(A100)" }
  priority: normal
)yaml";

// "path: allowed" of the problem at `path`.
std::string AllowedAt(const Error& error, std::string_view path) {
  for (const FieldProblem& problem : error.fields) {
    if (problem.path == path) return problem.allowed;
  }
  return "";
}

TEST(Codec, ReadsTheProjectOfTheDesign) {
  const auto project = ParseProject(Yaml(kProject));
  ASSERT_TRUE(project) << project.error().message;
  EXPECT_EQ(project->metadata.name, "nlp");
  EXPECT_EQ(project->spec.display_name, "NLP 组");
  EXPECT_EQ(project->spec.members[1].role, Role::kLead);
  const Binding& binding = project->spec.bindings.at(0);
  EXPECT_EQ(binding.resource_group, "alg-a");
  EXPECT_EQ(binding.quota.at("requests.memory").ToString(), "512Gi");
  EXPECT_EQ(binding.pools.at(0).limits.at("requests.nvidia.com/gpu"), Quantity::FromInt(8));
  EXPECT_EQ(binding.limit_range.min.at("cpu").ToString(), "500m");
  EXPECT_TRUE(Validate(*project));
}

TEST(Codec, ReadsTheTrainingJobOfTheDesign) {
  const auto job = ParseWorkload(Yaml(kJob));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->kind, WorkloadKind::kTrainingJob);
  EXPECT_EQ(job->spec.command, (std::vector<std::string>{"python", "train.py"}));
  EXPECT_EQ(job->spec.resources.gpu->milli_cards, 2000);
  EXPECT_EQ(job->spec.resources.gpu->model, "A100");
  EXPECT_TRUE(Validate(*job));
}

// Left out means the default; a zero that somebody wrote is not silently another size.
TEST(Codec, RefusesAWrittenZero) {
  const auto value =
      json::Parse(R"({"apiVersion":"cubeplane.io/v1","kind":"Notebook","metadata":{"name":"nb","project":"p"},
      "spec":{"resources":{"cpu":0,"memory":"0Gi"}}})");
  ASSERT_TRUE(value);
  const auto workload = ParseWorkload(*value);
  ASSERT_FALSE(workload);
  ASSERT_EQ(workload.error().fields.size(), 2u);
  EXPECT_EQ(workload.error().fields[0].path, "spec.resources.cpu");
  EXPECT_EQ(workload.error().fields[1].found, "0");
}

TEST(Codec, NamesEveryUnknownFieldAndGuessesWhatWasMeant) {
  const auto job = ParseObject(Yaml(R"(
apiVersion: cubeplane.io/v1
kind: TrainingJob
metadata: { name: a, project: nlp, lables: {} }
spec: { resources: { cpus: 2, memroy: 1Gi }, comand: [a], queue: true }
)"));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Code::kInvalid);
  EXPECT_EQ(job.error().fields.size(), 5u);
  EXPECT_TRUE(AllowedAt(job.error(), "metadata.lables").starts_with("did you mean `labels`?"));
  EXPECT_TRUE(AllowedAt(job.error(), "spec.resources.cpus").starts_with("did you mean `cpu`?"));
  EXPECT_TRUE(AllowedAt(job.error(), "spec.resources.memroy").starts_with("did you mean `memory`?"));
  EXPECT_TRUE(AllowedAt(job.error(), "spec.comand").starts_with("did you mean `command`?"));
  EXPECT_NE(AllowedAt(job.error(), "spec.queue"), "") << "only a notebook has it";
}

TEST(Codec, CollectsWrongTypesAndBadQuantitiesWithTheirPlaces) {
  const auto job = ParseObject(Yaml(R"yaml(
apiVersion: cubeplane.io/v1
kind: TrainingJob
metadata: [ a ]
spec: { image: 5, command: [sleep, 5], replicas: "1", retries: 1.5, env: [ 3 ], resources: { cpu: 1 core, memory: 1e99, gpu: 2( } }
)yaml"));
  ASSERT_FALSE(job);
  for (const char* path :
       {"metadata", "spec.image", "spec.command[1]", "spec.replicas", "spec.retries", "spec.env[0]",
        "spec.resources.cpu", "spec.resources.memory", "spec.resources.gpu"}) {
    EXPECT_NE(AllowedAt(job.error(), path), "") << path;
  }
  EXPECT_EQ(job.error().fields.size(), 9u);
  EXPECT_NE(AllowedAt(job.error(), "spec.image").find("\"5\""), std::string::npos);
}

TEST(Codec, RefusesAnotherApiOrKind) {
  const auto error =
      ParseObject(Yaml("{ apiVersion: v1, kind: Notbook, metadata: {}, spec: {x: 1} }")).error();
  EXPECT_EQ(AllowedAt(error, "apiVersion"), "cubeplane.io/v1");
  EXPECT_TRUE(AllowedAt(error, "kind").starts_with("did you mean `Notebook`?"));
  EXPECT_EQ(error.fields.size(), 2u);
  EXPECT_FALSE(ParseObject(json::Value("text")));
  EXPECT_FALSE(ParseObject(json::Value()));
}

TEST(Codec, BoundsWhatItSaysAboutHugeInput) {
  json::Value object = Yaml(kJob);
  json::Value& spec = object.MakeObject()["spec"];
  for (int i = 0; i < 500; ++i) spec.Set("x" + std::to_string(i), std::string(1000, 'x'));
  const auto error = ParseObject(object).error();
  EXPECT_EQ(error.fields.size(), 50u);
  EXPECT_LT(error.message.size(), 5000u);
  for (const FieldProblem& problem : error.fields) EXPECT_LE(problem.found.size(), 200u);
}

TEST(Codec, NumbersWithFractionsAreQuantities) {
  const auto job = ParseWorkload(Yaml(R"(
apiVersion: cubeplane.io/v1
kind: Notebook
metadata: { name: nb, project: nlp }
spec: { resources: { cpu: 0.5, memory: 1.5Gi, gpu: 0.5 } }
)"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->spec.resources.cpu.ToString(), "500m");
  EXPECT_EQ(job->spec.resources.memory.ToString(), "1536Mi");
  EXPECT_EQ(job->spec.resources.gpu->milli_cards, 500);
}

TEST(Codec, TheStoreReadsBackWhatWasWritten) {
  auto project = *ParseProject(Yaml(kProject));
  ApplyDefaults(project);
  project.metadata.uid = "u-1";
  project.metadata.resource_version = 7;
  project.status.conditions.push_back(
      {"Ready", true, "project_ready", {{"a", "b"}}, *ParseTime("2026-03-04T06:02:07.123Z")});
  const auto written = ToJson(project);
  const auto again = ProjectFromStore(written);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), written);
  EXPECT_EQ(again->metadata.resource_version, 7);
  EXPECT_TRUE(again->status.conditions.at(0).status);
  EXPECT_EQ(again->status.conditions[0].since, project.status.conditions[0].since);
}

TEST(Codec, TheStoreReadsBackAWorkloadWithItsStatus) {
  auto job = *ParseWorkload(Yaml(kJob));
  ApplyDefaults(job, {});
  const Time time = *ParseTime("2026-03-04T06:02:07.123Z");
  job.metadata.owner = "user-1";
  job.metadata.created = job.metadata.deleted = time;
  job.metadata.annotations["note"] = "x";
  job.spec.code = "sha256:" + std::string(64, 'a');
  job.spec.retries = 2;
  job.spec.time_limit_seconds = 60;
  job.spec.stopped = true;
  job.spec.resources.cpu_request = Quantity::FromMilli(500);
  job.spec.resources.ephemeral_storage = Quantity::FromInt(1 << 30, Quantity::Format::kBinarySI);
  WorkloadStatus& status = job.status;
  status.phase = Phase::kFailed;
  status.reason = {"program_failed", {{"code", "1"}}};
  status.details = {{"quota_short", {{"resource", "cpu"}, {"project", "nlp"}}}, {"a", {}}};
  status.place = 3;
  status.accepted = status.admitted = status.sent = status.started = status.ended = status.waiting_since =
      time;
  AttemptStatus attempt;
  attempt.cluster = "local";
  attempt.pod_uid = "p";
  attempt.pod_restarts = 2;
  attempt.sent = time;
  attempt.exit_code = 0;
  attempt.proof = "pod p Succeeded";
  status.attempts.assign(3, attempt);
  status.restarts = 4;
  status.address = "http://x";
  status.result = R"({"accuracy":0.97})";
  const auto written = ToJson(job);
  const auto again = WorkloadFromStore(*json::Parse(json::Write(written)));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), written);
  EXPECT_EQ(again->status.phase, Phase::kFailed);
  EXPECT_EQ(again->status.details, status.details);
  EXPECT_EQ(again->status.attempts.at(2).exit_code, 0);
  EXPECT_EQ(again->status.attempts[0].pod_restarts, 2);
  EXPECT_EQ(again->status.result, status.result);
  EXPECT_EQ(written.At("status.result.accuracy").AsDouble(), 0.97);
  EXPECT_EQ(again->spec.resources.cpu_request, job.spec.resources.cpu_request);
  EXPECT_EQ(again->status.waiting_since, time);
}

TEST(Codec, AppliedTextIgnoresTheStatusThatWasServed) {
  auto job = *ParseWorkload(Yaml(kJob));
  job.status.phase = Phase::kRunning;
  const auto again = ParseWorkload(ToJson(job));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->status.phase, Phase::kWaiting);
}

TEST(Codec, KindsAndPhasesHaveTheirWords) {
  EXPECT_EQ(ParseKind("notebooks"), WorkloadKind::kNotebook);
  EXPECT_EQ(ParseKind("TrainingJob"), WorkloadKind::kTrainingJob);
  EXPECT_FALSE(ParseKind("Pipeline"));
  for (const char* word :
       {"waiting", "admitted", "starting", "running", "stopping", "succeeded", "failed", "stopped"}) {
    ASSERT_TRUE(ParsePhase(word)) << word;
    EXPECT_EQ(PhaseName(*ParsePhase(word)), word);
  }
  EXPECT_FALSE(ParsePhase("Running"));
}

TEST(Gpu, IsReadAsCubeStudioWritesIt) {
  struct Case {
    const char* text;
    int64_t milli;
    const char *vendor, *model, *written;
  };
  const Case cases[] = {{"2", 2000, "", "", "2"},
                        {"2(A100)", 2000, "", "A100", "2(A100)"},
                        {"2(nvidia,A100)", 2000, "nvidia", "A100", "2(nvidia,A100)"},
                        {"2（nvidia，A100）", 2000, "nvidia", "A100", "2(nvidia,A100)"},
                        {" 1 ( nvidia , T4 ) ", 1000, "nvidia", "T4", "1(nvidia,T4)"},
                        {"4（T4）", 4000, "", "T4", "4(T4)"},
                        {"0.5", 500, "", "", "0.5"},
                        {"0.25(T4)", 250, "", "T4", "0.25(T4)"},
                        {"1.0", 1000, "", "", "1"}};
  for (const Case& c : cases) {
    const auto gpu = ParseGpu(c.text);
    ASSERT_TRUE(gpu) << c.text;
    EXPECT_EQ(gpu->milli_cards, c.milli) << c.text;
    EXPECT_EQ(gpu->vendor, c.vendor) << c.text;
    EXPECT_EQ(gpu->model, c.model) << c.text;
    EXPECT_EQ(GpuText(*gpu), c.written) << c.text;
  }
}

TEST(Gpu, RefusesWhatIsNone) {
  for (const char* text :
       {"",         "0",        "-1",         "A100",   "2(",        "2)", "2()",
        "2(A100",   "2(a,b,c)", "2(nvidia,)", "1.5",    "0.0001",    "2m", "1e3",
        "2(A 100)", "99999999", "2(A100)x",   "(A100)", "2((A100))", ".",  "9223372036854775808"}) {
    const auto gpu = ParseGpu(text);
    ASSERT_FALSE(gpu) << text;
    EXPECT_EQ(gpu.error().fields.at(0).found, text);
    EXPECT_FALSE(gpu.error().fields.at(0).allowed.empty());
  }
}

}  // namespace
}  // namespace cubeplane::model
