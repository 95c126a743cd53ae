#include "kube/informer.h"

#include <gtest/gtest.h>

#include "async/manual_executor.h"
#include "kube/testing/scripted_server.h"

namespace cubeplane::kube {
namespace {

using namespace std::chrono_literals;
using testing::Json;
using testing::List;
using testing::Object;
using testing::Status;

class InformerTest : public ::testing::Test {
 protected:
  void Start() {
    informer.OnChange([this](const std::string& name_space, const std::string& name) {
      changes.push_back(name_space + "/" + name);
    });
    informer.Start();
    executor.RunUntilIdle();
  }
  // The version that the informer has of an object; "" when it has none.
  std::string VersionOf(const std::string& name) {
    const auto object = informer.Get("a", name);
    return object ? object->At("metadata.resourceVersion").AsString() : "";
  }
  static async::Task<void> StopIt(Informer& informer, bool& stopped) {
    co_await informer.Stop();
    stopped = true;
  }
  ~InformerTest() override {
    bool stopped = false;
    group.Spawn(StopIt(informer, stopped));
    executor.RunUntilIdle();
    EXPECT_TRUE(stopped);
  }

  ManualClock clock;
  async::ManualExecutor executor{clock};
  SeededRandom random{7};
  testing::ScriptedServer server{executor};
  http::InProcessTransport transport{server, {}};
  Client client{transport, [] { return std::string(); }};
  Informer informer{client, kPods, "", executor, random};
  async::TaskGroup group{executor};
  std::vector<std::string> changes;
};

TEST_F(InformerTest, ListsThenWatchesFromThere) {
  server.Answer(List("5", {Object("x", "3"), Object("y", "4")}));
  server.OpenWatch();
  Start();
  EXPECT_TRUE(informer.Synced());
  EXPECT_EQ(informer.List().size(), 2u);
  EXPECT_EQ(changes, (std::vector<std::string>{"a/x", "a/y"}));
  EXPECT_NE(server.requests.back().target.find("resourceVersion=5"), std::string::npos);
  server.streams[0]->Event("MODIFIED", Object("x", "6"));
  server.streams[0]->Event("DELETED", Object("y", "7"));
  server.streams[0]->Event("ADDED", Object("z", "8"));
  executor.RunUntilIdle();
  EXPECT_EQ(VersionOf("x"), "6");
  EXPECT_EQ(VersionOf("y"), "");
  EXPECT_EQ(VersionOf("z"), "8");
  EXPECT_EQ(changes.size(), 5u);
}

TEST_F(InformerTest, ACutWatchGoesOnWhereItWasWithoutANewList) {
  server.Answer(List("5", {Object("x", "3")}));
  server.OpenWatch();
  Start();
  server.streams[0]->Event("MODIFIED", Object("x", "9"));
  server.streams[0]->Event("BOOKMARK", Object("", "12"));
  executor.RunUntilIdle();
  executor.Advance(1min);
  server.streams[0]->Cut();
  executor.RunUntilIdle();
  EXPECT_TRUE(informer.trouble());
  executor.Advance(1s);
  ASSERT_EQ(server.streams.size(), 2u);
  EXPECT_EQ(server.other_count, 1);
  EXPECT_NE(server.requests.back().target.find("resourceVersion=12"), std::string::npos);
  // The same event again, as after a resume, changes nothing but is told.
  server.streams[1]->Event("MODIFIED", Object("x", "9"));
  executor.RunUntilIdle();
  EXPECT_EQ(VersionOf("x"), "9");
  EXPECT_FALSE(informer.trouble());
}

TEST_F(InformerTest, AnExpiredVersionBringsANewListAndTellsWhatVanished) {
  server.Answer(List("5", {Object("x", "3"), Object("y", "4")}));
  server.OpenWatch();
  Start();
  changes.clear();
  server.ForgetAnswers();
  server.Answer(List("50", {Object("x", "3"), Object("z", "40")}));
  server.streams[0]->Event("ERROR", Status(410, "Expired", "too old resource version"));
  executor.RunUntilIdle();
  EXPECT_EQ(informer.List().size(), 2u) << "the old knowledge stands until the new list is whole";
  executor.Advance(1s);
  EXPECT_EQ(VersionOf("y"), "");
  EXPECT_EQ(VersionOf("z"), "40");
  EXPECT_EQ(changes, (std::vector<std::string>{"a/z", "a/y"}));
  EXPECT_EQ(server.streams.size(), 2u);
}

TEST_F(InformerTest, APartialListIsNeverTakenForTheWhole) {
  server.Answer(List("5", {Object("x", "3"), Object("y", "4")}));
  server.OpenWatch();
  Start();
  server.ForgetAnswers();
  server.Answer(List("50", {Object("x", "3")}, "more"));
  server.Answer(Json(500, Status(500, "InternalError", "etcd is gone")));
  server.streams[0]->Event("ERROR", Status(410, "Expired", "too old"));
  executor.RunUntilIdle();
  executor.Advance(10s);
  EXPECT_EQ(informer.List().size(), 2u);
  EXPECT_EQ(informer.trouble()->message, "etcd is gone");
  server.ForgetAnswers();
  server.Answer(List("60", {Object("x", "3")}));
  executor.Advance(1min);
  EXPECT_EQ(informer.List().size(), 1u);
}

TEST_F(InformerTest, WatchesThatEndAtOnceAreBackedOff) {
  server.Answer(List("5", {}));
  http::Response ended;
  ended.status = 200;
  server.AnswerWatch(ended);
  Start();
  executor.Advance(10min);
  EXPECT_EQ(server.other_count, 1);
  EXPECT_GE(server.watch_count, 15);
  EXPECT_LE(server.watch_count, 60);
}

TEST_F(InformerTest, AServerThatAlwaysSaysGoneIsNotListedWithoutPause) {
  server.Answer(List("5", {Object("x", "3")}));
  server.AnswerWatch(Json(410, Status(410, "Expired", "too old")));
  Start();
  executor.Advance(10min);
  EXPECT_GE(server.other_count, 15);
  EXPECT_LE(server.other_count, 60);
  EXPECT_EQ(VersionOf("x"), "3");
}

TEST_F(InformerTest, ADeadClusterIsTriedForeverAndThenFound) {
  Start();
  EXPECT_FALSE(informer.Synced());
  executor.Advance(2h);
  EXPECT_GE(server.other_count, 200);
  EXPECT_LE(server.other_count, 600);
  server.Answer(List("5", {Object("x", "3")}));
  server.OpenWatch();
  executor.Advance(31s);
  EXPECT_TRUE(informer.Synced());
  EXPECT_EQ(VersionOf("x"), "3");
}

TEST_F(InformerTest, ALongWatchThatBreaksIsTakenUpAgainSoon) {
  Start();
  executor.Advance(1h);  // the back-off is at its longest
  server.Answer(List("5", {}));
  server.OpenWatch();
  executor.Advance(31s);
  ASSERT_EQ(server.streams.size(), 1u);
  executor.Advance(1min);
  server.streams[0]->Cut();
  executor.RunUntilIdle();
  executor.Advance(1s);
  EXPECT_EQ(server.streams.size(), 2u);
}

TEST_F(InformerTest, AWatchThatFallsSilentBeyondItsTimeIsGivenUp) {
  server.Answer(List("5", {}));
  server.OpenWatch();
  Start();
  executor.Advance(6min);
  EXPECT_TRUE(server.streams[0]->closed);
  EXPECT_GE(server.streams.size(), 2u);
}

TEST_F(InformerTest, LastSeenIsTheLastSignOfLife) {
  server.Answer(List("5", {}));
  server.OpenWatch();
  Start();
  EXPECT_EQ(informer.LastSeen(), clock.MonoNow());
  const Mono then = clock.MonoNow();
  executor.Advance(30s);
  EXPECT_EQ(informer.LastSeen(), then);
  server.streams[0]->Event("BOOKMARK", Object("", "6"));
  executor.RunUntilIdle();
  EXPECT_EQ(informer.LastSeen(), clock.MonoNow());
}

}  // namespace
}  // namespace cubeplane::kube
