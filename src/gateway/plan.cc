#include "gateway/plan.h"

#include <algorithm>
#include <map>
#include <set>

namespace cubeplane::gateway {
namespace {

bool SameUpstream(const state::Route& a, const state::Route& b) {
  return a.instance == b.instance && a.upstream == b.upstream && a.secret == b.secret;
}

std::string_view ServerOf(std::string_view host_value) { return host_value.substr(0, host_value.find('|')); }

}  // namespace

Table Merge(const Table& old, const std::vector<state::Route>& routes, uint64_t at_least) {
  std::map<std::string_view, const Place*> known;
  for (const Place& place : old.places) known[place.route.host] = &place;
  Table table;
  table.next_server = std::max(old.next_server, at_least);
  for (const state::Route& route : routes) {
    const auto at = known.find(route.host);
    if (at != known.end() && SameUpstream(at->second->route, route)) {
      table.places.push_back({route, at->second->server});
    } else {
      table.places.push_back({route, route.instance + "." + std::to_string(table.next_server++)});
    }
  }
  std::ranges::sort(table.places, {},
                    [](const Place& place) -> const std::string& { return place.route.host; });
  return table;
}

json::Value Encode(const Table& table) {
  json::Array places;
  for (const Place& place : table.places) {
    const state::Route& route = place.route;
    places.push_back(json::Object{{"host", route.host},
                                  {"workload", route.workload_uid},
                                  {"upstream", route.upstream},
                                  {"instance", route.instance},
                                  {"secret", route.secret},
                                  {"owner", route.owner},
                                  {"server", place.server}});
  }
  return json::Object{{"version", 1}, {"nextServer", table.next_server}, {"routes", std::move(places)}};
}

Result<Table> DecodeTable(const json::Value& value) {
  if (value["version"].AsInt() != 1 || !value["routes"].IsArray() || !value["nextServer"].IsInt()) {
    return Fail(Code::kInvalid, "not a route table of version 1");
  }
  Table table;
  table.next_server = static_cast<uint64_t>(value["nextServer"].AsInt());
  for (const json::Value& item : value["routes"].AsArray()) {
    table.places.push_back({{.host = item["host"].AsString(),
                             .workload_uid = item["workload"].AsString(),
                             .upstream = item["upstream"].AsString(),
                             .instance = item["instance"].AsString(),
                             .secret = item["secret"].AsString(),
                             .owner = item["owner"].AsString()},
                            item["server"].AsString()});
  }
  return table;
}

std::vector<MapEntry> HostsOf(const Table& table) {
  std::vector<MapEntry> entries;
  for (const Place& place : table.places) {
    entries.push_back({place.route.host, place.server + "|" + place.route.owner});
  }
  return entries;
}

std::vector<MapEntry> SecretsOf(const Table& table) {
  std::vector<MapEntry> entries;
  for (const Place& place : table.places) entries.push_back({place.server, place.route.secret});
  return entries;
}

std::vector<ServerLine> ServersOf(const Table& table) {
  std::vector<ServerLine> servers;
  for (const Place& place : table.places) servers.push_back({place.server, place.route.upstream});
  return servers;
}

std::string MapText(const std::vector<MapEntry>& entries) {
  std::string text;
  for (const MapEntry& entry : entries) text += entry.key + " " + entry.value + "\n";
  return text;
}

MapPlan PlanMap(const std::vector<MapEntry>& wanted, const std::vector<MapEntry>& seen) {
  std::map<std::string_view, std::string_view> is;
  std::set<std::string_view> doubled;
  for (const MapEntry& entry : seen) {
    if (!is.emplace(entry.key, entry.value).second) doubled.insert(entry.key);
  }
  MapPlan plan;
  std::set<std::string_view> keep;
  for (const MapEntry& entry : wanted) {
    keep.insert(entry.key);
    const auto at = is.find(entry.key);
    if (at == is.end() || doubled.contains(entry.key)) {
      plan.put.push_back({MapChange::Kind::kAdd, entry});
    } else if (at->second != entry.value) {
      plan.put.push_back({MapChange::Kind::kSet, entry});
    }
  }
  for (const auto& [key, value] : is) {
    if (!keep.contains(key) || doubled.contains(key)) plan.drop.emplace_back(key);
  }
  return plan;
}

RoutePlan PlanRoutes(const Table& table, const Seen& seen) {
  RoutePlan plan;
  MapPlan hosts = PlanMap(HostsOf(table), seen.hosts);
  plan.drop_hosts = std::move(hosts.drop);
  plan.put_hosts = std::move(hosts.put);

  std::set<std::string_view> there(seen.servers.begin(), seen.servers.end());
  std::set<std::string_view> wanted;
  for (const Place& place : table.places) {
    wanted.insert(place.server);
    if (!there.contains(place.server)) plan.add_servers.push_back({place.server, place.route.upstream});
  }
  for (const std::string& server : seen.servers) {
    if (!wanted.contains(server)) plan.remove_servers.push_back(server);
  }

  MapPlan secrets = PlanMap(SecretsOf(table), seen.secrets);
  plan.secrets.put = std::move(secrets.put);
  for (std::string& server : secrets.drop) {
    (wanted.contains(server) ? plan.secrets.drop : plan.drop_secrets).push_back(std::move(server));
  }

  for (const MapChange& change : plan.put_hosts) {
    if (change.kind != MapChange::Kind::kSet) continue;
    for (const MapEntry& entry : seen.hosts) {
      if (entry.key == change.entry.key && ServerOf(entry.value) == ServerOf(change.entry.value)) {
        plan.cut_servers.emplace_back(ServerOf(entry.value));
      }
    }
  }
  return plan;
}

}  // namespace cubeplane::gateway
