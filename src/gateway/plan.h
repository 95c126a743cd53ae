// What must change in HAProxy, decided: pure functions from what must be and what is to an ordered plan.
//
// The order fails closed. Revoked hosts go first; a new server and its secret come before the host that leads
// to it; an old server is closed to new requests, cut and deleted, and only then its secret goes. Server
// names are never used twice, so a host can never lead to a server that has become another workload's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gateway/admin.h"
#include "gateway/config.h"
#include "json/value.h"
#include "state/entry.h"

namespace cubeplane::gateway {

inline constexpr size_t kMaxRoutes = 8192;

struct Place {
  state::Route route;
  std::string server;  // "<instance>.<number>"
  bool operator==(const Place&) const = default;
};

struct Table {
  std::vector<Place> places;  // ordered by host
  uint64_t next_server = 1;
  bool operator==(const Table&) const = default;
};

// The table for `routes`. A place whose instance, upstream and secret are the same keeps its server. `routes`
// hold each host once; numbers start at `at_least`, so that a lost table does not repeat them.
Table Merge(const Table& old, const std::vector<state::Route>& routes, uint64_t at_least);

json::Value Encode(const Table& table);
// kInvalid when it is not what Encode wrote.
Result<Table> DecodeTable(const json::Value& value);

std::vector<MapEntry> HostsOf(const Table& table);
std::vector<MapEntry> SecretsOf(const Table& table);
std::vector<ServerLine> ServersOf(const Table& table);
// "key value\n" for each.
std::string MapText(const std::vector<MapEntry>& entries);

// A map's change. A key that stands twice is dropped (which removes both) and put anew.
struct MapChange {
  enum class Kind { kAdd, kSet } kind = Kind::kAdd;
  MapEntry entry;
  bool operator==(const MapChange&) const = default;
};
struct MapPlan {
  std::vector<std::string> drop;  // before `put`
  std::vector<MapChange> put;
};
MapPlan PlanMap(const std::vector<MapEntry>& wanted, const std::vector<MapEntry>& seen);

struct Seen {
  std::vector<std::string> servers;
  std::vector<MapEntry> hosts, secrets;
};
// To be done in the order of the members.
struct RoutePlan {
  std::vector<std::string> drop_hosts;
  std::vector<ServerLine> add_servers;
  MapPlan secrets;  // only its `put` and drops of doubled keys
  std::vector<MapChange> put_hosts;
  std::vector<std::string> cut_servers;  // the owner has changed: end what is open
  std::vector<std::string> remove_servers;
  std::vector<std::string> drop_secrets;
};
RoutePlan PlanRoutes(const Table& table, const Seen& seen);

}  // namespace cubeplane::gateway
