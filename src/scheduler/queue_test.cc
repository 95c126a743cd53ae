#include "scheduler/queue.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace cubeplane::scheduler {
namespace {

constexpr char kGpu[] = "requests.nvidia.com/gpu";

Waiting Work(std::string uid, int cards, bool notebook = false) {
  Waiting waiting;
  waiting.uid = std::move(uid);
  waiting.request.usage = {{kGpu, Quantity::FromInt(cards)}, {"pods", Quantity::FromInt(1)}};
  waiting.request.has_cards = true;
  waiting.notebook = notebook;
  return waiting;
}

ProjectQueue Queue(int used, int limit) {
  ProjectQueue queue;
  queue.project = "nlp";
  BindingView view;
  view.project = "nlp";
  view.cluster = "local";
  view.quota_name = "quota-nlp";
  view.quota = {{kGpu, Quantity::FromInt(limit)}};
  view.used = {{kGpu, Quantity::FromInt(used)}};
  queue.bindings.push_back(view);
  return queue;
}

// "a+ b1 c+": admitted, or the place.
std::string Summary(const std::vector<QueueStep>& steps) {
  std::string text;
  for (const QueueStep& step : steps) {
    text += (text.empty() ? "" : " ") + step.uid + (step.admitted ? "+" : std::to_string(step.place));
  }
  return text;
}

TEST(Queue, AdmitsInOrderUntilSomebodyDoesNotFit) {
  ProjectQueue queue = Queue(4, 8);
  queue.waiting = {Work("a", 2), Work("b", 3), Work("c", 1), Work("d", 1)};
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a+ b1 c2 d3") << "c and d would fit, and wait for b";
}

TEST(Queue, ANotebookPassesWaitingBatchWorkIfItFits) {
  ProjectQueue queue = Queue(7, 8);
  queue.waiting = {Work("a", 2), Work("nb", 1, true), Work("nb2", 1, true), Work("b", 1)};
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a1 nb+ nb22 b3");
}

TEST(Queue, ANotebookDoesNotPassAnotherNotebook) {
  ProjectQueue queue = Queue(7, 8);
  queue.waiting = {Work("nb", 2, true), Work("nb2", 1, true)};
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "nb1 nb22");
}

TEST(Queue, EachThatWaitsKnowsItsPlaceAndTheWayOutCountsThoseAhead) {
  ProjectQueue queue = Queue(7, 8);
  queue.waiting = {Work("a", 2), Work("b", 1), Work("c", 2)};
  const auto steps = PlanAdmissions(queue);
  ASSERT_EQ(steps[2].reasons.size(), 2u);
  EXPECT_EQ(steps[2].reasons[0].code, "waits_in_line");
  const model::Reason& reason = steps[2].reasons[1];
  EXPECT_EQ(reason.code, "quota_short_ahead");
  for (const auto& [name, value] : reason.params) {
    if (name == "ahead") EXPECT_EQ(value, "3");
    if (name == "n") EXPECT_EQ(value, "2");
    if (name == "raise") EXPECT_EQ(value, "12") << "8, and the 4 that are short";
  }
  queue.bindings[0].quota[kGpu] = Quantity::FromInt(12);
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a+ b+ c+");
  queue.bindings[0].quota[kGpu] = Quantity::FromInt(11);
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a+ b+ c1");
}

TEST(Queue, WhatTheClusterRefusedKeepsItsPlace) {
  ProjectQueue queue = Queue(0, 8);
  queue.waiting = {Work("a", 2), Work("b", 1)};
  queue.waiting[0].held = true;
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a1 b2");
  queue.waiting[0].held = false;
  EXPECT_EQ(Summary(PlanAdmissions(queue)), "a+ b+");
}

TEST(Queue, WhatCanNeverFitIsSaidAsSuch) {
  ProjectQueue queue = Queue(0, 8);
  queue.waiting = {Work("a", 9), Work("b", 8)};
  const auto steps = PlanAdmissions(queue);
  EXPECT_TRUE(steps[0].never);
  EXPECT_FALSE(steps[1].never);
}

TEST(Queue, AnUnboundProjectOrClusterHasItsOwnReason) {
  ProjectQueue queue = Queue(0, 8);
  queue.waiting = {Work("a", 1)};
  queue.waiting[0].cluster = "sh1";
  EXPECT_EQ(PlanAdmissions(queue)[0].reasons.back().code, "no_binding");
  queue.bindings.clear();
  queue.waiting[0].cluster.clear();
  EXPECT_EQ(PlanAdmissions(queue)[0].reasons.back().code, "no_bindings");
}

TEST(Queue, TheSecondBindingTakesWhatTheFirstCannot) {
  ProjectQueue queue = Queue(8, 8);
  queue.bindings.push_back(queue.bindings[0]);
  queue.bindings[1].cluster = "sh1";
  queue.bindings[1].used.clear();
  queue.waiting = {Work("a", 1)};
  const auto steps = PlanAdmissions(queue);
  EXPECT_TRUE(steps[0].admitted);
  EXPECT_EQ(steps[0].cluster, "sh1");
}

TEST(Queue, ThoseAheadOfANewcomerAreFound) {
  ProjectQueue queue = Queue(7, 8);
  queue.waiting = {Work("a", 2), Work("b", 1)};
  EXPECT_EQ(AheadOf(queue, queue.bindings[0], Work("c", 1)).size(), 2u);
  EXPECT_EQ(AheadOf(queue, queue.bindings[0], Work("nb", 1, true)).size(), 0u);
}

// Those ahead are kept as sums, so the whole line costs about as much as each in it alone.
TEST(Queue, ALongLineIsDecidedInOnePass) {
  ProjectQueue queue = Queue(7, 8);
  for (int i = 0; i < 5000; ++i) queue.waiting.push_back(Work(std::to_string(i), 2));
  const auto steps = PlanAdmissions(queue);
  EXPECT_EQ(steps.back().place, 5000);
  for (const auto& [name, value] : steps.back().reasons[1].params) {
    if (name == "n") EXPECT_EQ(value, "4999");
    if (name == "ahead") EXPECT_EQ(value, "9998");
  }
}

TEST(Queue, NeverOversellsAndKeepsTheOrderOfBatchWork) {
  SeededRandom random(11);
  for (int round = 0; round < 2000; ++round) {
    ProjectQueue queue = Queue(static_cast<int>(random.Below(5)), static_cast<int>(random.Below(20)));
    for (uint64_t i = 0; i < random.Below(12); ++i) {
      queue.waiting.push_back(
          Work(std::to_string(i), static_cast<int>(1 + random.Below(6)), random.Below(3) == 0));
    }
    const auto steps = PlanAdmissions(queue);
    ASSERT_EQ(steps.size(), queue.waiting.size());
    Quantity used = queue.bindings[0].used.at(kGpu);
    bool someone_waits = false, notebook_waits = false;
    int place = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Waiting& waiting = queue.waiting[i];
      if (steps[i].admitted) {
        ASSERT_FALSE(someone_waits && !waiting.notebook);
        ASSERT_FALSE(notebook_waits && waiting.notebook);
        used = *Quantity::Sum(used, waiting.request.usage.at(kGpu));
        ASSERT_LE(used, queue.bindings[0].quota.at(kGpu));
      } else {
        someone_waits = true;
        notebook_waits = notebook_waits || waiting.notebook;
        ASSERT_EQ(steps[i].place, ++place);
        ASSERT_GE(steps[i].reasons.size(), 2u) << "its place, and a rule";
      }
    }
  }
}

}  // namespace
}  // namespace cubeplane::scheduler
