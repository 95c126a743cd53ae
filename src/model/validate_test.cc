#include "model/validate.h"

#include <gtest/gtest.h>

#include "model/labels.h"
#include "model/reasons.h"

namespace cubeplane::model {
namespace {

Quantity Q(std::string_view text) { return *Quantity::Parse(text); }

Workload Job() {
  Workload job;
  job.metadata.name = "bert-ft";
  job.metadata.project = "nlp";
  job.spec.command = {"python", "train.py"};
  job.spec.resources.cpu = Q("8");
  job.spec.resources.memory = Q("64Gi");
  return job;
}

Project Group() {
  Project project;
  project.metadata.name = "nlp";
  project.spec.bindings.emplace_back();
  return project;
}

template <class T>
std::string AllowedAt(const T& object, std::string_view path) {
  const auto result = Validate(object);
  if (result) return "(valid)";
  for (const FieldProblem& problem : result.error().fields) {
    if (problem.path == path) return problem.allowed;
  }
  return "(not there) " + result.error().message;
}

template <class T>
::testing::AssertionResult RefusedAt(const T& object, std::string_view path) {
  const std::string allowed = AllowedAt(object, path);
  if (!allowed.starts_with("(") && !allowed.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << ": " << allowed;
}

TEST(Names, AreDnsLabelsWithoutDoubleHyphen) {
  for (const char* name : {"a", "bert-ft", "n1", "a1-b2-c3"}) EXPECT_FALSE(CheckName("n", name, 30)) << name;
  for (const char* name : {"", "-a", "a-", "a--b", "A", "a_b", "a.b", "1a", "中", "a b"}) {
    EXPECT_TRUE(CheckName("n", name, 30)) << name;
  }
  EXPECT_FALSE(CheckName("n", std::string(30, 'a'), 30));
  EXPECT_TRUE(CheckName("n", std::string(31, 'a'), 30));
}

TEST(Names, ABadOneComesWithOneThatWouldDo) {
  for (const auto& [bad, good] : {std::pair("Bert_FT", "bert-ft"),
                                  {"a--b", "a-b"},
                                  {"1a", "n1a"},
                                  {"-x-", "x"},
                                  {"中文", "my-name"},
                                  {"a.b/c", "a-b-c"}}) {
    const auto problem = CheckName("n", bad, 30);
    ASSERT_TRUE(problem) << bad;
    EXPECT_NE(problem->allowed.find("`" + std::string(good) + "`"), std::string::npos) << problem->allowed;
    EXPECT_FALSE(CheckName("n", good, 30));
  }
  const auto problem = CheckName("n", "abcdefghijklmnopqrs-uvw", 20);
  EXPECT_NE(problem->allowed.find("`abcdefghijklmnopqrs`"), std::string::npos) << problem->allowed;
}

TEST(Names, TheSentenceIsTheConsoles) {
  Workload job = Job();
  job.metadata.name = "Bert_FT";
  const Error error = Validate(job).error();
  EXPECT_EQ(error.reason, "name_invalid");
  EXPECT_EQ(Render(error.reason, error.params, Language::kEn),
            "Name `Bert_FT` refused: use a–z, 0–9, single -, at most 30. Try `bert-ft`.");
}

TEST(ValidateWorkload, AGoodOnePasses) {
  EXPECT_TRUE(Validate(Job()));
  Workload notebook = Job();
  notebook.kind = WorkloadKind::kNotebook;
  notebook.spec.command.clear();
  EXPECT_TRUE(Validate(notebook));
}

TEST(ValidateWorkload, MemoryInThousandthsOfAByteGetsTheHint) {
  Workload job = Job();
  job.spec.resources.memory = Q("128m");
  const Error error = Validate(job).error();
  EXPECT_EQ(error.reason, "memory_in_bytes");
  EXPECT_EQ(Render(error.reason, error.params, Language::kEn), "Memory `128m` is 0.128 byte. Write `128Mi`?");
  EXPECT_EQ(Render(error.reason, error.params, Language::kZh),
            "内存 `128m` 是 0.128 字节。是否应为 `128Mi`？");
}

TEST(ValidateWorkload, EachBadFieldIsNamed) {
  const std::pair<const char*, void (*)(Workload&)> cases[] = {
      {"metadata.project", [](Workload& w) { w.metadata.project = std::string(21, 'a'); }},
      {"metadata.name", [](Workload& w) { w.metadata.name = std::string(31, 'a'); }},
      {"metadata.labels", [](Workload& w) { w.metadata.labels["-x"] = "a"; }},
      {"metadata.labels[x]", [](Workload& w) { w.metadata.labels["x"] = "a b"; }},
      {"metadata.annotations", [](Workload& w) { w.metadata.annotations["x"] = std::string(70000, 'a'); }},
      {"spec.image", [](Workload& w) { w.spec.image = "a b"; }},
      {"spec.command", [](Workload& w) { w.spec.command.clear(); }},
      {"spec.command[0]", [](Workload& w) { w.spec.command[0] = ""; }},
      {"spec.env[0].name", [](Workload& w) { w.spec.env = {{"1A", ""}}; }},
      {"spec.env[0].name", [](Workload& w) { w.spec.env = {{"CUBEPLANE_ATTEMPT", "9"}}; }},
      {"spec.env[1].name", [](Workload& w) { w.spec.env = {{"A", ""}, {"A", ""}}; }},
      {"spec.resources.cpu", [](Workload& w) { w.spec.resources.cpu = Q("-1"); }},
      {"spec.resources.cpu", [](Workload& w) { w.spec.resources.cpu = Q("0.5m"); }},
      {"spec.resources.cpu", [](Workload& w) { w.spec.resources.cpu = Q("0"); }},
      {"spec.resources.memory", [](Workload& w) { w.spec.resources.memory = Q("64"); }},
      {"spec.resources.memory", [](Workload& w) { w.spec.resources.memory = Q("-1Gi"); }},
      {"spec.resources.cpuRequest", [](Workload& w) { w.spec.resources.cpu_request = Q("9"); }},
      {"spec.resources.memoryRequest", [](Workload& w) { w.spec.resources.memory_request = Q("65Gi"); }},
      {"spec.resources.shm", [](Workload& w) { w.spec.resources.shm = Q("65Gi"); }},
      {"spec.resources.gpu", [](Workload& w) { w.spec.resources.gpu = GpuRequest{1000, "", "A1OO"}; }},
      {"spec.resources.gpu", [](Workload& w) { w.spec.resources.gpu = GpuRequest{500, "", ""}; }},
      {"spec.code", [](Workload& w) { w.spec.code = "sha256:zz"; }},
      {"spec.cluster", [](Workload& w) { w.spec.cluster = "BJ 1"; }},
      {"spec.priority", [](Workload& w) { w.spec.priority = "urgent"; }},
      {"spec.replicas", [](Workload& w) { w.spec.replicas = 4; }},
      {"spec.retries", [](Workload& w) { w.spec.retries = -1; }},
      {"spec.timeLimitSeconds", [](Workload& w) { w.spec.time_limit_seconds = -5; }}};
  for (const auto& [path, spoil] : cases) {
    Workload job = Job();
    spoil(job);
    EXPECT_TRUE(RefusedAt(job, path));
  }
}

TEST(ValidateWorkload, AllProblemsComeAtOnce) {
  Workload job = Job();
  job.spec.priority = "urgent";
  job.spec.retries = 99;
  job.spec.image = "";
  const Error error = Validate(job).error();
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_EQ(error.fields.size(), 3u);
  EXPECT_EQ(error.reason, "fields_not_allowed");
}

TEST(Defaults, SizesComeFromTheLimitRange) {
  LimitRange range;
  range.default_limit = {{"cpu", Q("8")}, {"memory", Q("32Gi")}};
  range.default_request = {{"cpu", Q("1")}, {"memory", Q("4Gi")}};
  Workload job = Job();
  job.spec.resources = {};
  ApplyDefaults(job, range);
  EXPECT_EQ(job.spec.resources.cpu, Q("8"));
  EXPECT_EQ(job.spec.resources.cpu_request, Q("1"));
  EXPECT_EQ(job.spec.resources.memory, Q("32Gi"));
  EXPECT_EQ(job.spec.resources.memory_request, Q("4Gi"));
  EXPECT_TRUE(Validate(job));
}

TEST(Defaults, AGivenSizeIsItsOwnRequest) {
  LimitRange range;
  range.default_limit = {{"cpu", Q("8")}};
  range.default_request = {{"cpu", Q("1")}};
  Workload job = Job();
  job.spec.resources.cpu = Q("2");
  ApplyDefaults(job, range);
  EXPECT_EQ(job.spec.resources.cpu, Q("2"));
  EXPECT_FALSE(job.spec.resources.cpu_request);
}

TEST(Defaults, WithoutALimitRangeOneCoreAndOneGiB) {
  Workload job = Job();
  job.spec.resources = {};
  ApplyDefaults(job, {});
  EXPECT_EQ(job.spec.resources.cpu, Q("1"));
  EXPECT_EQ(job.spec.resources.memory.ToString(), "1Gi");
  EXPECT_EQ(job.spec.resources.shm->ToString(), "64Mi");
  EXPECT_TRUE(Validate(job));
  LimitRange range;
  range.min = {{"cpu", Q("2")}};
  Workload raised = Job();
  raised.spec.resources = {};
  ApplyDefaults(raised, range);
  EXPECT_EQ(raised.spec.resources.cpu, Q("2"));
}

TEST(Defaults, TheModelIsWrittenAsTheTableHasIt) {
  Workload job = Job();
  job.spec.resources.gpu = GpuRequest{1000, "", "a100"};
  ApplyDefaults(job, {});
  EXPECT_EQ(job.spec.resources.gpu->model, "A100");
}

TEST(Defaults, AliasesOfAQuotaBecomeOneKeyAndTheStricterStays) {
  Project project = Group();
  project.spec.bindings[0].quota = {{"cpu", Q("6")}, {"requests.cpu", Q("4")}, {"memory", Q("8Gi")}};
  ApplyDefaults(project);
  const ResourceList expected = {{"requests.cpu", Q("4")}, {"requests.memory", Q("8Gi")}};
  EXPECT_EQ(project.spec.bindings[0].quota, expected);
}

TEST(Defaults, SilentDefaultsOfALimitRangeAreMadeVisible) {
  Project project = Group();
  project.spec.bindings[0].limit_range.max = {{"cpu", Q("4")}};
  ApplyDefaults(project);
  EXPECT_EQ(project.spec.bindings[0].limit_range.default_limit.at("cpu"), Q("4"));
  EXPECT_EQ(project.spec.bindings[0].limit_range.default_request.at("cpu"), Q("4"));
}

TEST(ValidateProject, EachBadFieldIsNamed) {
  const std::pair<const char*, void (*)(Project&)> cases[] = {
      {"metadata.name", [](Project& p) { p.metadata.name = std::string(21, 'a'); }},
      {"spec.weight", [](Project& p) { p.spec.weight = 0; }},
      {"spec.contacts[0].email", [](Project& p) { p.spec.contacts = {{"a", "nobody"}}; }},
      {"spec.members[1].user",
       [](Project& p) { p.spec.members = {{"a", Role::kLead}, {"a", Role::kMember}}; }},
      {"spec.bindings[1].cluster", [](Project& p) { p.spec.bindings.emplace_back(); }},
      {"spec.bindings[0].resourceGroup", [](Project& p) { p.spec.bindings[0].resource_group = ""; }},
      {"spec.bindings[0].quota[requests.cpu]",
       [](Project& p) { p.spec.bindings[0].quota["requests.cpu"] = Q("-1"); }},
      {"spec.bindings[0].quota[request.cpu]",
       [](Project& p) { p.spec.bindings[0].quota["request.cpu"] = Q("1"); }},
      {"spec.bindings[0].quota[pods]", [](Project& p) { p.spec.bindings[0].quota["pods"] = Q("1500m"); }},
      {"spec.bindings[0].quota[limits.memory]",
       [](Project& p) { p.spec.bindings[0].quota["limits.memory"] = Q("128m"); }},
      {"spec.bindings[0].limitRange.min[cpu]",
       [](Project& p) {
         p.spec.bindings[0].limit_range.min = {{"cpu", Q("3")}};
         p.spec.bindings[0].limit_range.max = {{"cpu", Q("2")}};
       }},
      {"spec.bindings[0].limitRange.max[gpu]",
       [](Project& p) { p.spec.bindings[0].limit_range.max = {{"gpu", Q("1")}}; }},
      {"spec.bindings[0].pools", [](Project& p) {
         p.spec.bindings[0].quota = {{"requests.nvidia.com/gpu", Q("8")}};
         p.spec.bindings[0].pools = {{"a", {{"requests.nvidia.com/gpu", Q("5")}}},
                                     {"b", {{"requests.nvidia.com/gpu", Q("4")}}}};
       }}};
  for (const auto& [path, spoil] : cases) {
    Project project = Group();
    spoil(project);
    EXPECT_TRUE(RefusedAt(project, path));
  }
  EXPECT_TRUE(Validate(Group()));
}

// A quota on the bare resource name is stored and never enforced by Kubernetes.
TEST(ValidateProject, ABareCardQuotaIsRefusedWithTheKeyThatWorks) {
  Project project = Group();
  project.spec.bindings[0].quota["nvidia.com/gpu"] = Q("1");
  EXPECT_TRUE(
      AllowedAt(project, "spec.bindings[0].quota[nvidia.com/gpu]").starts_with("`requests.nvidia.com/gpu`"));
  Project limits = Group();
  limits.spec.bindings[0].quota["limits.nvidia.com/gpu"] = Q("1");
  EXPECT_TRUE(AllowedAt(limits, "spec.bindings[0].quota[limits.nvidia.com/gpu]")
                  .starts_with("`requests.nvidia.com/gpu`"));
}

TEST(ValidateProject, PoolsWhoseSumOverflowsAreRefused) {
  Project project = Group();
  project.spec.bindings[0].quota = {{"requests.nvidia.com/gpu", Q("4")}};
  const Quantity most = Q("9223372036854775807");
  project.spec.bindings[0].pools = {{"a", {{"requests.nvidia.com/gpu", most}}},
                                    {"b", {{"requests.nvidia.com/gpu", most}}}};
  EXPECT_TRUE(RefusedAt(project, "spec.bindings[0].pools"));
}

TEST(Accelerators, AreFoundWithoutCase) {
  ASSERT_NE(FindAccelerator("", "a100"), nullptr);
  EXPECT_EQ(FindAccelerator("", "a100")->resource, "nvidia.com/gpu");
  EXPECT_EQ(FindAccelerator("NVIDIA", "A100")->model, "A100");
  EXPECT_EQ(FindAccelerator("", "")->resource, "nvidia.com/gpu");
  EXPECT_EQ(FindAccelerator("amd", "")->resource, "amd.com/gpu");
  EXPECT_EQ(FindAccelerator("amd", "A100"), nullptr);
  EXPECT_EQ(FindAccelerator("", "A1000"), nullptr);
  EXPECT_GE(Accelerators().size(), 20u);
}

TEST(LabelScheme, IsCubeStudios) {
  EXPECT_EQ(Labels().resource_group, "org");
  EXPECT_EQ(Labels().default_group, "public");
  EXPECT_EQ(Labels().gpu_model, "gpu-type");
  EXPECT_EQ(Labels().group_taint, "cubeplane.io/org");
}

}  // namespace
}  // namespace cubeplane::model
