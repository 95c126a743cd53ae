#include "gateway/proxy.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "gateway/files.h"
#include "gateway/lines.h"
#include "gateway/pages.h"
#include "json/json.h"

namespace cubeplane::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMaxFile = 32u << 20;
constexpr char kTableFile[] = "routes.json";
constexpr char kKeyFile[] = "state.key";
constexpr char kIdentityFile[] = "haproxy.json";
constexpr char kAdminFile[] = "admin.sock";
constexpr Duration kGrace = seconds(5);
constexpr int kDeleteTries = 10;

int64_t UnixSeconds(Time time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}
uint64_t UnixMilliseconds(Time time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
}

// Keeps the first error; what comes later is done all the same.
void Keep(Result<void>& first, Result<void> next) {
  if (first && !next) first = std::move(next);
}

}  // namespace

Proxy::Proxy(GatewayOptions options, const Clock& clock, Random& random, std::string fresh_key,
             std::function<void(const std::string&)> log)
    : options_(std::move(options)),
      clock_(clock),
      state_key_(std::move(fresh_key)),
      log_(std::move(log)),
      admin_(options_.run_folder + "/" + kAdminFile),
      backoff_(milliseconds(200), seconds(30), random) {}

Result<void> Proxy::Start() {
  RETURN_IF_ERROR(CheckConfig(Config()));
  RETURN_IF_ERROR(PrivateFolder(options_.run_folder));
  RETURN_IF_ERROR(PrivateFolder(options_.state_folder));
  RETURN_IF_ERROR(PrivateFolder(StatePath("maps")));
  RETURN_IF_ERROR(LoadKey());
  mark_ = ConfigMark(Config());
  static_config_ = StaticConfig(Config(), mark_);
  RETURN_IF_ERROR(LoadTable());
  LoadSessions();
  const auto info = admin_.ShowInfo();
  if (info && !info->stopping && info->description == mark_) return Adopt(*info);
  if (info)
    log_("gateway: HAProxy runs with another configuration and is replaced; open connections are cut");
  EndRunning();
  RETURN_IF_ERROR(CheckPortFree(options_.port));
  return Launch();
}

Result<void> Proxy::Adopt(const AdminSocket::Info& info) {
  ASSIGN_OR_RETURN(process_, Identify(info.pid));
  started_ = clock_.MonoNow();
  RETURN_IF_ERROR(WriteDurably(RunPath(kIdentityFile), json::Write(Encode(process_))));
  RETURN_IF_ERROR(WriteRoutes());
  RETURN_IF_ERROR(WriteSessions());
  RETURN_IF_ERROR(Reconcile());
  SetHealth(true, "", "");
  log_("gateway: found HAProxy running, process " + std::to_string(process_.pid));
  return {};
}

Result<void> Proxy::Launch() {
  RETURN_IF_ERROR(WriteRoutes());
  RETURN_IF_ERROR(WriteSessions());
  RETURN_IF_ERROR(WriteDurably(StatePath(kPagesMap), PagesMap()));
  ASSIGN_OR_RETURN(process_, StartDaemon({.binary = options_.haproxy,
                                          .folder = options_.state_folder,
                                          .config = kConfigFile,
                                          .pid_file = RunPath("haproxy.pid"),
                                          .error_file = RunPath("haproxy.err")}));
  started_ = clock_.MonoNow();
  missed_pings_ = 0;
  RETURN_IF_ERROR(WriteDurably(RunPath(kIdentityFile), json::Write(Encode(process_))));
  RETURN_IF_ERROR(admin_.ShowInfo());
  dirty_ = false;
  SetHealth(true, "", "");
  log_("gateway: HAProxy started, process " + std::to_string(process_.pid));
  return {};
}

// One of another build, another port, one that hangs, or one that another run of us left: it is ours by its
// socket or by the identity that we noted.
void Proxy::EndRunning() {
  if (const auto info = admin_.ShowInfo();
      info && info->description.starts_with("cubeplane-" + options_.instance + "-")) {
    if (const auto id = Identify(info->pid)) {
      if (auto ended = EndProcess(*id, kGrace); !ended) log_(ended.error().message);
    }
  }
  const auto noted = ReadWhole(RunPath(kIdentityFile), kMaxFile);
  if (!noted) return;
  if (const auto value = json::Parse(*noted)) {
    if (auto ended = EndProcess(DecodeProcessId(*value), kGrace); !ended) log_(ended.error().message);
  }
}

Result<void> Proxy::End() {
  if (process_.pid == 0) EndRunning();
  RETURN_IF_ERROR(EndProcess(process_, kGrace));
  for (const char* file : {kIdentityFile, kAdminFile, "haproxy.pid", "haproxy.err"})
    unlink(RunPath(file).c_str());
  SetHealth(false, "gateway_ended", "");
  return {};
}

ConfigInput Proxy::Config() const {
  return {.port = options_.port,
          .instance = options_.instance,
          .domain = options_.domain,
          .admin_socket = RunPath(kAdminFile),
          .platform_socket = options_.platform_socket,
          .state_key = state_key_,
          .max_connections = MaxConnections()};
}

Result<void> Proxy::LoadKey() {
  const auto key = ReadWhole(StatePath(kKeyFile), 256);
  if (!key && key.error().code != Code::kNotFound) return Fail(key.error());
  if (!key) return WriteDurably(StatePath(kKeyFile), state_key_);
  state_key_ = *key;
  return CheckConfig(Config());
}

Result<void> Proxy::LoadTable() {
  const auto text = ReadWhole(StatePath(kTableFile), kMaxFile);
  if (!text && text.error().code == Code::kNotFound) return {};
  if (!text) return Fail(text.error());
  auto value = json::Parse(*text, {.max_bytes = kMaxFile});
  Result<Table> table = value ? DecodeTable(*value) : Fail(value.error());
  if (!table) {
    // Derived state: the routes come again from the controller. Server names stay unique by time (see Merge).
    log_("gateway: " + StatePath(kTableFile) + " cannot be read and is made anew: " + table.error().message);
    return {};
  }
  std::erase_if(table->places, [&](const Place& place) {
    const bool good =
        CheckRoute(place.route, options_.domain, {RunPath(kAdminFile), options_.platform_socket})
            .has_value() &&
        IsWord(place.server);
    if (!good) log_("gateway: a stored route cannot be used and is left out");
    return !good;
  });
  table_ = std::move(*table);
  return {};
}

void Proxy::LoadSessions() {
  sessions_.clear();
  const auto text = ReadWhole(StatePath(kSessionsMap), kMaxFile);
  if (!text) return;
  const int64_t now = UnixSeconds(clock_.Now());
  std::string_view rest = *text;
  while (!rest.empty() && sessions_.size() < kMaxSessions) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t blank = line.find(' ');
    const size_t bar = line.find('|', blank);
    const size_t second = bar == std::string_view::npos ? bar : line.find('|', bar + 1);
    if (second == std::string_view::npos) continue;
    state::OriginSession session{.id_hash = std::string(line.substr(0, blank)),
                                 .user = std::string(line.substr(blank + 1, bar - blank - 1)),
                                 .host = std::string(line.substr(second + 1))};
    int64_t expiry = 0;
    std::from_chars(line.data() + bar + 1, line.data() + second, expiry);
    if (CheckSession(session) && expiry > now)
      sessions_[session.id_hash] = {session.user, session.host, expiry};
  }
}

std::vector<MapEntry> Proxy::SessionEntries() const {
  std::vector<MapEntry> entries;
  entries.reserve(sessions_.size());
  for (const auto& [hash, session] : sessions_) {
    entries.push_back({hash, session.user + "|" + std::to_string(session.expiry_s) + "|" + session.host});
  }
  return entries;
}

Result<void> Proxy::WriteSessions() const {
  return WriteDurably(StatePath(kSessionsMap), MapText(SessionEntries()));
}

// The table last: it is what we read back; the others are made from it before each start of HAProxy.
Result<void> Proxy::WriteRoutes() const {
  RETURN_IF_ERROR(WriteDurably(StatePath(kHostsMap), MapText(HostsOf(table_))));
  RETURN_IF_ERROR(WriteDurably(StatePath(kSecretsMap), MapText(SecretsOf(table_))));
  RETURN_IF_ERROR(WriteDurably(StatePath(kConfigFile), WholeConfig(static_config_, ServersOf(table_))));
  return WriteDurably(StatePath(kTableFile), json::Write(Encode(table_)));
}

Result<void> Proxy::SetRoutes(const std::vector<state::Route>& routes) {
  Result<void> first;
  std::vector<state::Route> good;
  std::set<std::string_view> hosts;
  for (const state::Route& route : routes) {
    if (good.size() >= kMaxRoutes) {
      Keep(first,
           Fail(Code::kTooMany, "the gateway holds at most " + std::to_string(kMaxRoutes) + " routes"));
      break;
    }
    Result<void> checked =
        CheckRoute(route, options_.domain, {RunPath(kAdminFile), options_.platform_socket});
    if (checked && !hosts.insert(route.host).second) {
      checked = Fail(Code::kInvalid, "two workloads claim the address " + route.host);
    }
    if (checked) good.push_back(route);
    Keep(first, std::move(checked));
  }
  Table next = Merge(table_, good, UnixMilliseconds(clock_.Now()));
  if (next.places == table_.places && !dirty_) return first;
  table_ = std::move(next);
  // HAProxy is told even when the disk is full: taking a route away must not wait for the disk.
  Result<void> written = WriteRoutes();
  Result<void> told = ReconcileRoutes();
  dirty_ = dirty_ || !written || !told;
  Keep(first, std::move(written));
  Keep(first, std::move(told));
  return first;
}

Result<void> Proxy::PutSession(const state::OriginSession& session) {
  if (session.host == options_.domain) return {};
  RETURN_IF_ERROR(CheckSession(session));
  const int64_t expiry = UnixSeconds(session.expires);
  if (expiry <= UnixSeconds(clock_.Now())) return Fail(Code::kInvalid, "the session has ended already");
  if (sessions_.size() >= kMaxSessions && !sessions_.contains(session.id_hash)) {
    return Fail(Code::kTooMany, "the gateway holds at most " + std::to_string(kMaxSessions) + " sessions");
  }
  const bool known = sessions_.contains(session.id_hash);
  const Session before = known ? sessions_[session.id_hash] : Session{};
  sessions_[session.id_hash] = {session.user, session.host, expiry};
  if (auto written = WriteSessions(); !written) {
    if (known) {
      sessions_[session.id_hash] = before;
    } else {
      sessions_.erase(session.id_hash);
    }
    return written;
  }
  const std::string value = session.user + "|" + std::to_string(expiry) + "|" + session.host;
  auto told =
      PutMap(kSessionsMap, {known ? MapChange::Kind::kSet : MapChange::Kind::kAdd, {session.id_hash, value}});
  if (!told) told = ReconcileSessions();
  dirty_ = dirty_ || !told;
  return told;
}

Result<void> Proxy::EndSessions(const std::vector<std::string>& id_hashes) {
  std::set<std::string> hosts;
  for (const std::string& hash : id_hashes) {
    const auto at = sessions_.find(hash);
    if (at == sessions_.end()) continue;
    hosts.insert(at->second.host);
    sessions_.erase(at);
  }
  if (hosts.empty()) return {};
  // HAProxy first, whatever the disk says.
  Result<void> first;
  for (const std::string& hash : id_hashes) {
    if (const auto answer = admin_.Ask({"del", "map", kSessionsMap, hash}); !answer)
      Keep(first, Fail(answer.error()));
  }
  for (const std::string& host : hosts) CutHost(host);
  Keep(first, WriteSessions());
  if (!first) dirty_ = true;
  return first;
}

Result<void> Proxy::Reconcile() {
  Result<void> first = ReconcileRoutes();
  Keep(first, ReconcileSessions());
  return first;
}

Result<void> Proxy::ReconcileSessions() {
  ASSIGN_OR_RETURN(const std::vector<MapEntry> seen, admin_.Map(kSessionsMap));
  const MapPlan plan = PlanMap(SessionEntries(), seen);
  for (const std::string& hash : plan.drop) RETURN_IF_ERROR(admin_.Tell({"del", "map", kSessionsMap, hash}));
  for (const MapChange& change : plan.put) RETURN_IF_ERROR(PutMap(kSessionsMap, change));
  return {};
}

Result<void> Proxy::ReconcileRoutes() {
  Seen seen;
  ASSIGN_OR_RETURN(seen.servers, admin_.Servers(kBackend));
  ASSIGN_OR_RETURN(seen.hosts, admin_.Map(kHostsMap));
  ASSIGN_OR_RETURN(seen.secrets, admin_.Map(kSecretsMap));
  const RoutePlan plan = PlanRoutes(table_, seen);

  for (const std::string& host : plan.drop_hosts)
    RETURN_IF_ERROR(admin_.Tell({"del", "map", kHostsMap, host}));
  Result<void> first;
  std::set<std::string> failed;  // servers that could not be made: no host may lead to them
  for (const ServerLine& server : plan.add_servers) {
    auto added = AddServer(server);
    if (!added) failed.insert(server.name);
    Keep(first, std::move(added));
  }
  for (const std::string& server : plan.secrets.drop)
    RETURN_IF_ERROR(admin_.Tell({"del", "map", kSecretsMap, server}));
  for (const MapChange& change : plan.secrets.put) {
    auto put = PutMap(kSecretsMap, change);
    if (!put) failed.insert(change.entry.key);
    Keep(first, std::move(put));
  }
  for (const MapChange& change : plan.put_hosts) {
    const std::string server = change.entry.value.substr(0, change.entry.value.find('|'));
    if (!failed.contains(server)) {
      Keep(first, PutMap(kHostsMap, change));
    } else if (change.kind == MapChange::Kind::kSet) {
      // It leads to a server that goes: nowhere is better than there.
      Keep(first, admin_.Tell({"del", "map", kHostsMap, change.entry.key}));
    }
  }
  for (const std::string& server : plan.cut_servers) Cut(server);
  for (const std::string& server : plan.remove_servers) Keep(first, RemoveServer(server));
  if (first) {
    for (const std::string& server : plan.drop_secrets)
      Keep(first, admin_.Tell({"del", "map", kSecretsMap, server}));
  }
  return first;
}

Result<void> Proxy::PutMap(std::string_view map, const MapChange& change) {
  const std::string_view verb = change.kind == MapChange::Kind::kAdd ? "add" : "set";
  return admin_.Tell({verb, "map", map, change.entry.key, change.entry.value});
}

Result<void> Proxy::AddServer(const ServerLine& server) {
  const std::string name = std::string(kBackend) + "/" + server.name;
  RETURN_IF_ERROR(admin_.Tell({"add", "server", name, server.upstream, "weight", "0", "pool-max-conn", "0"},
                              "New server registered."));
  auto enabled = admin_.Tell({"enable", "server", name});
  // Left behind it would look finished: the next try makes it anew.
  if (!enabled) static_cast<void>(admin_.Ask({"del", "server", name}));
  return enabled;
}

Result<void> Proxy::RemoveServer(const std::string& server) {
  const std::string name = std::string(kBackend) + "/" + server;
  RETURN_IF_ERROR(admin_.Tell({"set", "server", name, "state", "maint"}));
  Result<void> removed;
  for (int tries = 0; tries < kDeleteTries; ++tries) {
    RETURN_IF_ERROR(admin_.Tell({"shutdown", "sessions", "server", name}));
    removed = admin_.Tell({"del", "server", name}, "Server deleted.");
    if (removed) return removed;
    Pause(milliseconds(10));  // its sessions end a moment after they are told
  }
  return removed;
}

void Proxy::Cut(const std::string& server) {
  if (auto cut = admin_.Tell({"shutdown", "sessions", "server", std::string(kBackend) + "/" + server});
      !cut) {
    log_("gateway: open connections could not be cut: " + cut.error().message);
  }
  // A request that had passed the checks a moment ago may connect only now.
  cuts_.emplace_back(clock_.MonoNow() + seconds(1), server);
}

void Proxy::CutHost(const std::string& host) {
  for (const Place& place : table_.places) {
    if (place.route.host == host) Cut(place.server);
  }
}

void Proxy::Tick() {
  const Mono now = clock_.MonoNow();
  Supervise(now);
  CutAgain(now);
  Sweep(now);
  if (dirty_ && now >= next_repair_ && health().healthy) {
    next_repair_ = now + seconds(2);
    Result<void> repaired = WriteRoutes();
    Keep(repaired, WriteSessions());
    Keep(repaired, Reconcile());
    dirty_ = !repaired.has_value();
    if (!repaired) log_("gateway: changes are not yet in effect: " + repaired.error().message);
  }
}

void Proxy::Supervise(Mono now) {
  if (process_.pid == 0) return;  // not started
  if (IsAlive(process_)) {
    if (now < next_ping_) return;
    next_ping_ = now + seconds(5);
    missed_pings_ = admin_.ShowInfo() ? 0 : missed_pings_ + 1;
    if (missed_pings_ == 0) {
      if (now - started_ > seconds(60)) backoff_.Reset();
      return;
    }
    if (missed_pings_ < 3) return;
    log_("gateway: HAProxy does not answer and is restarted");
    if (auto ended = EndProcess(process_, kGrace); !ended) log_(ended.error().message);
  }
  if (health().healthy) {
    SetHealth(false, "gateway_restarting", "HAProxy has ended and is being started again");
    log_("gateway: HAProxy has ended");
    if (now - started_ > seconds(60)) backoff_.Reset();
    next_start_ = backoff_.attempt() == 0 ? now : now + backoff_.Next();
  }
  if (now < next_start_) return;
  const auto launched = Launch();
  next_start_ = clock_.MonoNow() + backoff_.Next();
  if (launched) {
    const std::lock_guard lock(mutex_);
    ++health_.restarts;
  } else {
    SetHealth(false, "gateway_down", launched.error().message);
    log_("gateway: " + launched.error().message);
  }
}

void Proxy::CutAgain(Mono now) {
  std::erase_if(cuts_, [&](const std::pair<Mono, std::string>& cut) {
    if (cut.first > now) return false;
    // A server that has gone meanwhile has no connections.
    static_cast<void>(
        admin_.Ask({"shutdown", "sessions", "server", std::string(kBackend) + "/" + cut.second}));
    return true;
  });
}

// HAProxy refuses an expired session itself; an open WebSocket has to be cut.
void Proxy::Sweep(Mono now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + options_.sweep_every;
  const int64_t wall = UnixSeconds(clock_.Now());
  std::vector<std::string> expired;
  for (const auto& [hash, session] : sessions_) {
    if (session.expiry_s <= wall) expired.push_back(hash);
  }
  if (expired.empty()) return;
  if (auto ended = EndSessions(expired); !ended) log_("gateway: expired sessions: " + ended.error().message);
}

void Proxy::SetHealth(bool healthy, std::string reason, std::string message) {
  const std::lock_guard lock(mutex_);
  if (health_.healthy != healthy || health_.reason != reason) health_.since = clock_.Now();
  health_.healthy = healthy;
  health_.reason = std::move(reason);
  health_.message = std::move(message);
}

Proxy::Health Proxy::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

}  // namespace cubeplane::gateway
