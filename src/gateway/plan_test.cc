#include "gateway/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"

namespace cubeplane::gateway {
namespace {

state::Route RouteOf(const std::string& host, const std::string& instance, const std::string& owner = "ann") {
  return {.host = host + ".localhost",
          .workload_uid = "w-" + host,
          .upstream = "unix@/d/" + instance,
          .instance = instance,
          .secret = "secret-of-" + instance,
          .owner = owner};
}

// HAProxy as far as a plan matters: a host leads to a server by name.
struct World {
  Seen seen;

  void Apply(const RoutePlan& plan) {
    for (const auto& host : plan.drop_hosts) Drop(seen.hosts, host);
    for (const auto& server : plan.add_servers) seen.servers.push_back(server.name);
    for (const auto& server : plan.secrets.drop) Drop(seen.secrets, server);
    for (const auto& change : plan.secrets.put) Put(seen.secrets, change);
    for (const auto& change : plan.put_hosts) {
      Put(seen.hosts, change);
      CheckHosts();
    }
    for (const auto& server : plan.remove_servers) {
      std::erase(seen.servers, server);
      CheckHosts();
    }
    for (const auto& server : plan.drop_secrets) Drop(seen.secrets, server);
  }
  // No host leads to a server that is not there or has no secret.
  void CheckHosts() const {
    for (const MapEntry& host : seen.hosts) {
      const std::string server = host.value.substr(0, host.value.find('|'));
      EXPECT_NE(std::ranges::find(seen.servers, server), seen.servers.end()) << host.key;
      EXPECT_TRUE(
          std::ranges::any_of(seen.secrets, [&](const MapEntry& entry) { return entry.key == server; }));
    }
  }
  static void Drop(std::vector<MapEntry>& map, const std::string& key) {
    std::erase_if(map, [&](const MapEntry& entry) { return entry.key == key; });
  }
  static void Put(std::vector<MapEntry>& map, const MapChange& change) {
    const auto at = std::ranges::find(map, change.entry.key, &MapEntry::key);
    EXPECT_EQ(at != map.end(), change.kind == MapChange::Kind::kSet) << change.entry.key;
    if (at == map.end()) {
      map.push_back(change.entry);
    } else {
      at->value = change.entry.value;
    }
  }
};

TEST(Merge, KeepsTheServerOfAnUnchangedUpstream) {
  const Table first = Merge({}, {RouteOf("a", "p1"), RouteOf("b", "p2")}, 5);
  EXPECT_EQ(first.places[0].server, "p1.5");
  EXPECT_EQ(first.places[1].server, "p2.6");
  const Table second = Merge(first, {RouteOf("b", "p2", "bob"), RouteOf("a", "p3")}, 1);
  EXPECT_EQ(second.places[0].server, "p3.7");
  EXPECT_EQ(second.places[1].server, "p2.6");
  EXPECT_EQ(second.places[1].route.owner, "bob");
}

TEST(Merge, NeverUsesANameTwice) {
  Table table = Merge({}, {RouteOf("a", "p1")}, 1);
  const std::string name = table.places[0].server;
  table = Merge(table, {}, 1);
  table = Merge(table, {RouteOf("a", "p1")}, 1);
  EXPECT_NE(table.places[0].server, name);
  // Nor after the table was lost: the clock has gone on.
  EXPECT_NE(Merge({}, {RouteOf("a", "p1")}, 1000).places[0].server, name);
}

TEST(Table, IsReadBackAsWritten) {
  const Table table = Merge({}, {RouteOf("a", "p1"), RouteOf("b", "p2", "bob")}, 1'700'000'000'000);
  const auto read = DecodeTable(Encode(table));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, table);
  EXPECT_FALSE(DecodeTable(json::Object{{"version", 2}}));
  EXPECT_FALSE(DecodeTable(json::Value()));
}

TEST(PlanMap, DoubledKeysAreDroppedAndPutAnew) {
  const MapPlan plan =
      PlanMap({{"a", "1"}, {"b", "2"}, {"c", "3"}}, {{"a", "1"}, {"a", "0"}, {"b", "1"}, {"x", "9"}});
  EXPECT_EQ(plan.drop, (std::vector<std::string>{"a", "x"}));
  EXPECT_EQ(plan.put, (std::vector<MapChange>{{MapChange::Kind::kAdd, {"a", "1"}},
                                              {MapChange::Kind::kSet, {"b", "2"}},
                                              {MapChange::Kind::kAdd, {"c", "3"}}}));
}

TEST(PlanRoutes, NothingToDoWhenAllIsAsItMustBe) {
  const Table table = Merge({}, {RouteOf("a", "p1")}, 1);
  World world;
  world.Apply(PlanRoutes(table, world.seen));
  const RoutePlan plan = PlanRoutes(table, world.seen);
  EXPECT_TRUE(plan.drop_hosts.empty() && plan.add_servers.empty() && plan.put_hosts.empty() &&
              plan.remove_servers.empty() && plan.cut_servers.empty() && plan.secrets.put.empty() &&
              plan.secrets.drop.empty() && plan.drop_secrets.empty());
}

TEST(PlanRoutes, ANewOwnerCutsWhatIsOpen) {
  const Table before = Merge({}, {RouteOf("a", "p1"), RouteOf("b", "p2")}, 1);
  World world;
  world.Apply(PlanRoutes(before, world.seen));
  const Table after = Merge(before, {RouteOf("a", "p1", "eve"), RouteOf("b", "p3")}, 1);
  const RoutePlan plan = PlanRoutes(after, world.seen);
  EXPECT_EQ(plan.cut_servers, std::vector<std::string>{"p1.1"});
  EXPECT_EQ(plan.remove_servers, std::vector<std::string>{"p2.2"});
}

// From any state, one plan leads to the table, and at no step does a host lead nowhere or without a secret.
TEST(PlanRoutes, ReachesTheTableFromAnyState) {
  SeededRandom random(7);
  Table table;
  World world;
  for (int round = 0; round < 2000; ++round) {
    std::vector<state::Route> routes;
    for (int host = 0; host < 6; ++host) {
      if (random.Below(3) == 0) continue;
      routes.push_back(RouteOf("h" + std::to_string(host),
                               "p" + std::to_string(host) + std::to_string(random.Below(3)),
                               random.Below(4) == 0 ? "bob" : "ann"));
    }
    table = Merge(table, routes, 1);
    // Now and then HAProxy differs: it has lost hosts, or kept a server that was to go.
    if (random.Below(4) == 0 && !world.seen.hosts.empty()) world.seen.hosts.pop_back();
    if (random.Below(8) == 0) world.seen.servers.push_back("stray." + std::to_string(round));
    world.Apply(PlanRoutes(table, world.seen));

    std::map<std::string, std::string> hosts, secrets, wanted_hosts, wanted_secrets;
    for (const MapEntry& entry : world.seen.hosts) hosts[entry.key] = entry.value;
    for (const MapEntry& entry : HostsOf(table)) wanted_hosts[entry.key] = entry.value;
    for (const MapEntry& entry : world.seen.secrets) secrets[entry.key] = entry.value;
    for (const MapEntry& entry : SecretsOf(table)) wanted_secrets[entry.key] = entry.value;
    ASSERT_EQ(hosts, wanted_hosts);
    ASSERT_EQ(secrets, wanted_secrets);
    std::set<std::string> servers(world.seen.servers.begin(), world.seen.servers.end());
    ASSERT_EQ(servers.size(), table.places.size());
    for (const Place& place : table.places) ASSERT_TRUE(servers.contains(place.server));
  }
}

}  // namespace
}  // namespace cubeplane::gateway
