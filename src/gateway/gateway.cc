#include "gateway/gateway.h"

#include "async/sync.h"

namespace cubeplane::gateway {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(500);
constexpr size_t kKeyBytes = 32;

}  // namespace

Gateway::Gateway(GatewayOptions options, async::Executor& executor, Random& random,
                 std::function<void(const std::string&)> log)
    : options_(options),
      executor_(executor),
      proxy_(std::move(options), executor.clock(), random, random.Hex(kKeyBytes), std::move(log)),
      pool_(executor, 1),
      tasks_(executor) {}

async::Task<Result<void>> Gateway::Start() {
  Result<void> started = co_await pool_.Run([this] { return proxy_.Start(); });
  CO_RETURN_IF_ERROR(started);
  tasks_.Spawn(Supervise());
  co_return Result<void>();
}

async::Task<void> Gateway::Supervise() {
  for (;;) {
    const bool goes_on = co_await async::Sleep(executor_, kTick, tasks_.token());
    if (!goes_on) co_return;
    co_await pool_.Run([this] {
      proxy_.Tick();
      return true;
    });
  }
}

async::Task<Result<void>> Gateway::Stop(bool end_haproxy) {
  co_await tasks_.Join();
  if (!end_haproxy) co_return Result<void>();
  Result<void> ended = co_await pool_.Run([this] { return proxy_.End(); });
  co_return ended;
}

async::Task<Result<void>> Gateway::SetRoutes(std::vector<state::Route> routes) {
  Result<void> set =
      co_await pool_.Run([this, routes = std::move(routes)] { return proxy_.SetRoutes(routes); });
  co_return set;
}

async::Task<Result<void>> Gateway::PutSession(state::OriginSession session) {
  Result<void> put =
      co_await pool_.Run([this, session = std::move(session)] { return proxy_.PutSession(session); });
  co_return put;
}

async::Task<Result<void>> Gateway::EndSessions(std::vector<std::string> id_hashes) {
  Result<void> ended =
      co_await pool_.Run([this, id_hashes = std::move(id_hashes)] { return proxy_.EndSessions(id_hashes); });
  co_return ended;
}

std::string Gateway::OriginOf(const std::string& host) const {
  return "http://" + host + ":" + std::to_string(options_.port);
}

json::Value Gateway::Health() const {
  const Proxy::Health health = proxy_.health();
  json::Object value{{"healthy", health.healthy}, {"reason", health.reason}};
  if (!health.message.empty()) value.Set("message", health.message);
  value.Set("since", FormatTime(health.since));
  value.Set("restarts", health.restarts);
  return value;
}

}  // namespace cubeplane::gateway
