#include "scheduler/admission.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "model/reasons.h"
#include "scheduler/quota.h"

namespace cubeplane::scheduler {
namespace {

Quantity Q(std::string_view text) { return *Quantity::Parse(text); }

constexpr char kGpu[] = "requests.nvidia.com/gpu";

BindingView View() {
  BindingView view;
  view.project = "nlp";
  view.cluster = "bj1";
  view.quota_name = "quota-nlp";
  view.quota = {{kGpu, Q("8")}, {"requests.cpu", Q("64")}};
  view.used = {{kGpu, Q("7")}, {"requests.cpu", Q("8")}};
  return view;
}

Request Cards(int cards) {
  Request request;
  request.usage = {{kGpu, Quantity::FromInt(cards)}, {"requests.cpu", Q("1")}, {"pods", Q("1")}};
  request.has_cards = true;
  return request;
}

model::Workload Job(const char* cpu, const char* memory) {
  model::Workload job;
  job.metadata.name = "bert-ft";
  job.metadata.project = "nlp";
  job.spec.resources.cpu = Q(cpu);
  job.spec.resources.memory = Q(memory);
  return job;
}

TEST(Decide, AdmitsWhatFits) {
  const Verdict verdict = Decide(View(), {}, Cards(1));
  EXPECT_TRUE(verdict.admitted);
  EXPECT_TRUE(verdict.shorts.empty());
}

TEST(Decide, ARefusalNamesTheResourceAndTheSmallestChange) {
  const Verdict verdict = Decide(View(), {}, Cards(2));
  ASSERT_FALSE(verdict.admitted);
  ASSERT_EQ(verdict.shorts.size(), 1u);
  const Short& line = verdict.shorts[0];
  EXPECT_EQ(line.resource, kGpu);
  EXPECT_EQ(line.requested, Q("2"));
  EXPECT_EQ(line.used, Q("7"));
  EXPECT_EQ(line.limited, Q("8"));
  EXPECT_EQ(line.reduce, Q("1"));
  EXPECT_EQ(line.raise, Q("1"));
  EXPECT_FALSE(verdict.never());
  const Error refusal = RefusalOf(View(), verdict);
  EXPECT_EQ(refusal.code, Code::kQuotaExceeded);
  EXPECT_TRUE(
      refusal.message.starts_with("exceeded quota: quota-nlp, requested: requests.nvidia.com/gpu=2, "
                                  "used: requests.nvidia.com/gpu=7, limited: requests.nvidia.com/gpu=8"))
      << refusal.message;
  EXPECT_EQ(
      model::RenderNext(refusal.reason, refusal.params, model::Language::kEn),
      "Ask for at most requests.nvidia.com/gpu=1, or have the limit raised to requests.nvidia.com/gpu=9.");
  const auto reasons = ReasonsOf(View(), verdict);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(model::Render(reasons[0].code, reasons[0].params, model::Language::kEn),
            "nvidia.com/gpu quota of nlp in bj1 is short: requested 2, used 7, limited 8.");
  EXPECT_EQ(model::RenderNext(reasons[0].code, reasons[0].params, model::Language::kEn),
            "Ask for at most 1, or wait, or have the limit raised to 9.");
}

// "place 3, because A100 quota is short: requested 2, used 7, limited 8; the 2 ahead ask for 3. Would fit if
// 4 more are freed."
TEST(Decide, CountsThoseAhead) {
  const std::vector<Ahead> ahead = {{Cards(2).usage, ""}, {Cards(1).usage, ""}};
  const Verdict verdict = Decide(View(), ahead, Cards(2));
  ASSERT_EQ(verdict.shorts.size(), 1u);
  EXPECT_EQ(verdict.shorts[0].ahead, Q("3"));
  EXPECT_EQ(verdict.shorts[0].ahead_count, 2);
  EXPECT_EQ(verdict.shorts[0].raise, Q("4"));
  EXPECT_FALSE(verdict.shorts[0].reduce) << "asking less does not help while those ahead do not fit";
  EXPECT_FALSE(verdict.reducible);
  EXPECT_EQ(ReasonsOf(View(), verdict)[0].code, "quota_short_ahead");
}

TEST(Decide, ABatchBehindSomebodyElsesShortageIsToldOfIt) {
  Request small;
  small.usage = {{"requests.cpu", Q("1")}};
  const Verdict verdict = Decide(View(), {{Cards(2).usage, ""}}, small);
  ASSERT_FALSE(verdict.admitted);
  EXPECT_EQ(verdict.shorts[0].resource, kGpu);
  EXPECT_EQ(verdict.shorts[0].raise, Q("1"));
}

TEST(Decide, MoreThanTheWholeLimitCanNeverFit) {
  const Verdict verdict = Decide(View(), {}, Cards(16));
  EXPECT_TRUE(verdict.never());
  EXPECT_EQ(ReasonsOf(View(), verdict)[0].code, "quota_never");
}

TEST(Decide, AShrunkenQuotaStopsWhatAsksOfItAndNothingElse) {
  BindingView view = View();
  view.quota[kGpu] = Q("4");
  EXPECT_FALSE(Decide(view, {}, Cards(1)).admitted);
  Request without;
  without.usage = {{"requests.cpu", Q("1")}, {kGpu, Q("0")}};
  EXPECT_TRUE(Decide(view, {}, without).admitted);
  const Verdict verdict = Decide(view, {}, Cards(1));
  EXPECT_EQ(verdict.shorts[0].reduce, Q("1"));
  EXPECT_EQ(verdict.shorts[0].raise, Q("4"));
  EXPECT_EQ(ReasonsOf(view, verdict)[0].code, "quota_short_full");
}

TEST(Decide, SumsThatOverflowAreRefusedAndNeverAdmitted) {
  BindingView view = View();
  view.quota = {{kGpu, Q("9223372036854775807")}};
  view.used = {{kGpu, Q("9223372036854775807")}};
  Request huge;
  huge.usage = {{kGpu, Q("9223372036854775807")}};
  EXPECT_FALSE(Decide(view, {{huge.usage, ""}}, huge).admitted);
}

TEST(Decide, OnePoolIsFixedAndItsLimitHolds) {
  BindingView view = View();
  view.used[kGpu] = Q("0");
  view.pools = {{"t4", {{kGpu, Q("4")}}, {}, {{"gpu-type", "T4"}}},
                {"a100", {{kGpu, Q("4")}}, {{kGpu, Q("3")}}, {{"gpu-type", "a100"}}}};
  Request any = Cards(2);
  EXPECT_EQ(Decide(view, {}, any).pool, "t4");
  Request a100 = Cards(1);
  a100.gpu_model = "A100";
  EXPECT_EQ(Decide(view, {}, a100).pool, "a100");
  a100.usage[kGpu] = Q("2");
  const Verdict verdict = Decide(view, {}, a100);
  ASSERT_FALSE(verdict.admitted);
  EXPECT_EQ(verdict.shorts[0].pool, "a100");
  EXPECT_EQ(verdict.shorts[0].raise, Q("1"));
  EXPECT_EQ(ReasonsOf(view, verdict)[0].code, "pool_short");
  EXPECT_NE(RefusalOf(view, verdict).message.find("pool a100"), std::string::npos);
  Request unknown = Cards(1);
  unknown.pool = "h100";
  EXPECT_EQ(Decide(view, {}, unknown).unknown_pool, "h100");
  EXPECT_EQ(RefusalOf(view, Decide(view, {}, unknown)).reason, "pool_unknown");
  Request cpu;
  cpu.usage = {{"requests.cpu", Q("1")}};
  EXPECT_EQ(Decide(view, {}, cpu).pool, "") << "work without cards goes to no pool of cards";
}

TEST(Decide, WhatNoNodeHoldsNeverFits) {
  BindingView view = View();
  view.node_allocatable = {{{"cpu", Q("16")}}, {{"cpu", Q("8")}}};
  Request request;
  request.usage = {{"requests.cpu", Q("17")}};
  request.pod_requests = {{"cpu", Q("17")}};
  const Verdict verdict = Decide(view, {}, request);
  EXPECT_FALSE(verdict.admitted);
  EXPECT_TRUE(verdict.never());
  EXPECT_EQ(RefusalOf(view, verdict).message,
            "One replica asks for 17 cpu, and the largest node in bj1 has 16.");
}

// The way out that a refusal names lets it in, whatever refused: quota, a full line, or the nodes as well.
TEST(RefusalOf, NamesAWayOutThatHolds) {
  const auto refuse = [](const BindingView& view, const char* cpu) {
    Request request;
    request.usage = {{"requests.cpu", Q(cpu)}, {"limits.cpu", Q(cpu)}};
    request.pod_requests = {{"cpu", Q(cpu)}};
    return RefusalOf(view, Decide(view, {}, request));
  };
  const auto next = [](const Error& error, model::Language language) {
    return model::RenderNext(error.reason, error.params, language);
  };
  BindingView view = View();
  view.pools.clear();
  view.quota = {{"requests.cpu", Q("4")}, {"limits.cpu", Q("4")}};
  view.used = {{"requests.cpu", Q("500m")}, {"limits.cpu", Q("1")}};
  const Error over = refuse(view, "5");
  EXPECT_EQ(next(over, model::Language::kEn),
            "Ask for at most limits.cpu=3,requests.cpu=3500m, or have the limit raised to "
            "limits.cpu=6,requests.cpu=5500m.");
  EXPECT_EQ(next(over, model::Language::kZh),
            "改为不超过 limits.cpu=3,requests.cpu=3500m，或把上限提高到 limits.cpu=6,requests.cpu=5500m。");
  view.node_allocatable = {{{"cpu", Q("2")}}};
  EXPECT_EQ(next(refuse(view, "5"), model::Language::kEn),
            "Ask for at most limits.cpu=3,requests.cpu=2; no node of bj1 holds what was asked for.");
  view.node_allocatable.clear();
  view.used = view.quota;
  EXPECT_EQ(next(refuse(view, "1"), model::Language::kEn),
            "Try again once something has ended, or have the limit raised to limits.cpu=5,requests.cpu=5.");
}

TEST(MakeRequest, CountsEveryObjectThatTheControllerMakes) {
  model::Workload notebook = Job("2", "4Gi");
  notebook.kind = model::WorkloadKind::kNotebook;
  notebook.spec.resources.cpu_request = Q("500m");
  notebook.spec.resources.gpu = model::GpuRequest{2000, "", "A100"};
  const auto request = MakeRequest(notebook, {});
  ASSERT_TRUE(request);
  const ResourceList expected = {{"requests.cpu", Q("500m")},
                                 {"limits.cpu", Q("2")},
                                 {"requests.memory", Q("4Gi")},
                                 {"limits.memory", Q("4Gi")},
                                 {kGpu, Q("2")},
                                 {"pods", Q("1")},
                                 {"count/pods", Q("1")},
                                 {"services", Q("1")},
                                 {"count/services", Q("1")},
                                 {"secrets", Q("1")},
                                 {"count/secrets", Q("1")},
                                 {"count/statefulsets.apps", Q("1")}};
  EXPECT_EQ(request->usage, expected);
  EXPECT_EQ(request->gpu_model, "A100");
}

TEST(MakeRequest, TheLimitRangeForbids) {
  model::LimitRange range;
  range.max = {{"cpu", Q("1")}};
  const auto request = MakeRequest(Job("2", "4Gi"), range);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().message, "maximum cpu usage per Container is 1, but limit is 2");
}

TEST(Reservations, AreReleasedExactly) {
  const BindingView before = View();
  const auto reserved = Reserve(before, Cards(1), "");
  ASSERT_TRUE(reserved);
  EXPECT_EQ(reserved->used.at(kGpu), Q("8"));
  const auto released = Release(*reserved, Cards(1).usage, "");
  ASSERT_TRUE(released);
  EXPECT_EQ(released->used.at(kGpu), before.used.at(kGpu));
  EXPECT_EQ(Release(before, Cards(8).usage, "").error().code, Code::kInternal);
}

TEST(BaseUnits, AreThousandthsOfCoresAndWholeOthers) {
  EXPECT_EQ(*ToBaseUnits("requests.cpu", Q("1500m")), 1500);
  EXPECT_EQ(*ToBaseUnits("limits.memory", Q("1Gi")), 1 << 30);
  EXPECT_EQ(*ToBaseUnits(kGpu, Q("2")), 2);
  EXPECT_EQ(FromBaseUnits("requests.memory", 1 << 30).ToString(), "1Gi");
  EXPECT_EQ(FromBaseUnits("requests.cpu", 1500).ToString(), "1500m");
  EXPECT_FALSE(ToBaseUnits("requests.cpu", Q("9223372036854775807")));
}

// ---- decision 8 ----

struct Scene {
  BindingView view;
  std::vector<Ahead> ahead;
  Request request;
};

const char* const kKeys[] = {"requests.cpu", "limits.cpu", "requests.memory", "limits.memory", kGpu, "pods"};

// Amounts of a few base units up to the largest numbers; both are where mistakes hide.
Quantity Amount(Random& random, const char* key) {
  const uint64_t bound = random.Below(3) == 0 ? 4 : random.Below(2) == 0 ? 1000 : uint64_t{1} << 50;
  return FromBaseUnits(key, static_cast<int64_t>(random.Below(bound)));
}

ResourceList Amounts(Random& random) {
  ResourceList list;
  for (const char* key : kKeys) {
    if (random.Below(3) != 0) list[key] = Amount(random, key);
  }
  return list;
}

Scene RandomScene(Random& random) {
  Scene scene;
  scene.view = View();
  scene.view.quota = Amounts(random);
  scene.view.used = Amounts(random);
  for (const auto& [name, model] : {std::pair("a", "A100"), std::pair("b", "T4"), std::pair("c", "A100")}) {
    if (random.Below(3) == 0)
      scene.view.pools.push_back({name, Amounts(random), Amounts(random), {{"gpu-type", model}}});
  }
  for (uint64_t n = random.Below(4); n > 0; --n) {
    scene.ahead.push_back(
        {Amounts(random), random.Below(2) == 0 || scene.view.pools.empty() ? "" : scene.view.pools[0].name});
  }
  scene.request.usage = Amounts(random);
  scene.request.has_cards = random.Below(2) == 0;
  if (random.Below(3) == 0) scene.request.gpu_model = "A100";
  if (random.Below(4) == 0 && !scene.view.pools.empty()) scene.request.pool = scene.view.pools.back().name;
  return scene;
}

Quantity OneUnit(const std::string& key) { return FromBaseUnits(key, 1); }

void ChangeLimit(BindingView& view, const Short& line, const Quantity& by) {
  if (line.pool.empty()) {
    view.quota[line.resource] = *Quantity::Sum(view.quota[line.resource], by);
    return;
  }
  for (PoolView& pool : view.pools) {
    if (pool.name == line.pool) pool.limits[line.resource] = *Quantity::Sum(pool.limits[line.resource], by);
  }
}

bool AdmittedWithRaises(const Scene& scene, const Verdict& verdict, size_t spare) {
  BindingView view = scene.view;
  for (size_t i = 0; i < verdict.shorts.size(); ++i) {
    const Short& line = verdict.shorts[i];
    const Quantity by = i == spare ? *Quantity::Difference(line.raise, OneUnit(line.resource)) : line.raise;
    ChangeLimit(view, line, by);
  }
  return Decide(view, scene.ahead, scene.request).admitted;
}

// The request with each resource lowered by the largest reduction that a line of it wants; `spare`: by one
// unit less.
bool AdmittedWithReductions(const Scene& scene, const Verdict& verdict, const std::string& spare) {
  ResourceList reductions;
  for (const Short& line : verdict.shorts)
    reductions[line.resource] = std::max(reductions[line.resource], *line.reduce);
  Request request = scene.request;
  for (const auto& [key, most] : reductions) {
    const Quantity by = key == spare ? *Quantity::Difference(most, OneUnit(key)) : most;
    request.usage[key] = *Quantity::Difference(request.usage[key], by);
    EXPECT_FALSE(request.usage[key].IsNegative());
  }
  return Decide(scene.view, scene.ahead, request).admitted;
}

TEST(SmallestChange, OfRandomRefusalsLetsInAndNothingLessDoes) {
  SeededRandom random(20260304);
  int refusals = 0, reducible = 0;
  while (refusals < 2000) {
    const Scene scene = RandomScene(random);
    const Verdict verdict = Decide(scene.view, scene.ahead, scene.request);
    if (verdict.admitted || !verdict.unknown_pool.empty()) continue;
    SCOPED_TRACE("refusal " + std::to_string(refusals));
    ++refusals;
    ASSERT_TRUE(AdmittedWithRaises(scene, verdict, SIZE_MAX));
    for (size_t i = 0; i < verdict.shorts.size(); ++i) {
      ASSERT_FALSE(AdmittedWithRaises(scene, verdict, i)) << verdict.shorts[i].resource;
    }
    if (!verdict.reducible) continue;
    ++reducible;
    ASSERT_TRUE(AdmittedWithReductions(scene, verdict, ""));
    for (const Short& line : verdict.shorts) {
      ASSERT_FALSE(AdmittedWithReductions(scene, verdict, line.resource)) << line.resource;
    }
  }
  EXPECT_GT(reducible, 300);
}

// Law 1: with the same `used`, what is admitted here is never refused by a ResourceQuota.
TEST(SmallestChange, WhatIsAdmittedPassesKubernetesQuotaToo) {
  SeededRandom random(7);
  int admitted = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Scene scene = RandomScene(random);
    const bool fits = Decide(scene.view, {}, scene.request).admitted;
    const auto kubernetes =
        CheckQuota({"quota-nlp", scene.view.quota, scene.view.used, {}}, scene.request.usage);
    if (fits) {
      ASSERT_TRUE(kubernetes) << kubernetes.error().message;
      ++admitted;
    } else if (scene.view.pools.empty()) {
      ASSERT_FALSE(kubernetes) << "only pools make the entry stricter";
    }
  }
  EXPECT_GT(admitted, 50);
}

RC_GTEST_PROP(SmallestChange, ReserveAndReleaseAreInverses, (uint64_t seed)) {
  SeededRandom random(seed);
  const Scene scene = RandomScene(random);
  const std::string pool = scene.view.pools.empty() ? "" : scene.view.pools[0].name;
  const auto reserved = Reserve(scene.view, scene.request, pool);
  RC_ASSERT(reserved.has_value());
  const auto released = Release(*reserved, scene.request.usage, pool);
  RC_ASSERT(released.has_value());
  for (const auto& [key, amount] : scene.view.used) RC_ASSERT(released->used.at(key) == amount);
}

}  // namespace
}  // namespace cubeplane::scheduler
