// The real Gateway, told by lines of JSON: what the attack tests and the browser test drive.
//
//   gateway_harness RUN_FOLDER STATE_FOLDER PORT PLATFORM_SOCKET INSTANCE [down]
//
// Reads {"op": "routes"|"session"|"end"|"health"|"stop"|"down", …} from standard input, one a line; answers
// one line each:
// {"ok": true, …} or {"ok": false, "code": …, "message": …}. The first line it writes is Start's answer. With
// `down` it only ends the HAProxy that an earlier run has left.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "async/group.h"
#include "async/loop.h"
#include "gateway/gateway.h"
#include "json/json.h"

namespace cubeplane {
namespace {

void Answer(const Result<void>& result, json::Object extra = {}) {
  json::Object line{{"ok", result.has_value()}};
  if (!result) {
    line.Set("code", CodeName(result.error().code));
    line.Set("message", result.error().message);
  }
  for (auto& [key, value] : extra) line.Set(key, value);
  std::cout << json::Write(line) << std::endl;
}

std::vector<state::Route> RoutesOf(const json::Value& command) {
  std::vector<state::Route> routes;
  for (const json::Value& item : command["routes"].AsArray()) {
    routes.push_back({.host = item["host"].AsString(),
                      .workload_uid = item["workload"].AsString(),
                      .upstream = item["upstream"].AsString(),
                      .instance = item["instance"].AsString(),
                      .secret = item["secret"].AsString(),
                      .owner = item["owner"].AsString()});
  }
  return routes;
}

async::Task<void> Serve(gateway::Gateway& gateway, async::Executor& executor, async::BlockingPool& input) {
  Result<void> started = co_await gateway.Start();
  Answer(started);
  if (!started) co_return;
  for (;;) {
    std::optional<std::string> line = co_await input.Run([]() -> std::optional<std::string> {
      std::string text;
      if (!std::getline(std::cin, text)) return std::nullopt;
      return text;
    });
    const json::Value command = line ? json::Parse(*line).value_or(json::Value()) : json::Value();
    const std::string op = line ? command["op"].AsString() : "stop";
    if (op == "routes") {
      Result<void> set = co_await gateway.SetRoutes(RoutesOf(command));
      Answer(set);
    } else if (op == "session") {
      state::OriginSession session{
          .id_hash = command["hash"].AsString(),
          .user = command["user"].AsString(),
          .host = command["host"].AsString(),
          .expires = executor.clock().Now() + std::chrono::seconds(command["seconds"].AsInt())};
      Result<void> put = co_await gateway.PutSession(std::move(session));
      Answer(put);
    } else if (op == "end") {
      std::vector<std::string> hashes;
      for (const json::Value& hash : command["hashes"].AsArray()) hashes.push_back(hash.AsString());
      Result<void> ended = co_await gateway.EndSessions(std::move(hashes));
      Answer(ended);
    } else if (op == "health") {
      Answer({}, {{"health", gateway.Health()}, {"cookie", gateway.cookie_name()}});
    } else {
      Result<void> stopped = co_await gateway.Stop(op == "down");
      Answer(stopped);
      co_return;
    }
  }
}

int Main(int argc, char** argv) {
  if (argc < 6) return 2;
  SystemClock clock;
  SystemRandom random;
  async::Loop loop(clock);
  async::BlockingPool input(loop, 1);
  gateway::GatewayOptions options{.run_folder = argv[1],
                                  .state_folder = argv[2],
                                  .port = static_cast<uint16_t>(std::atoi(argv[3])),
                                  .platform_socket = argv[4],
                                  .instance = argv[5]};
  options.sweep_every = std::chrono::seconds(2);  // no test waits for a minute
  gateway::Gateway gateway(options, loop, random,
                           [](const std::string& line) { std::cerr << line << std::endl; });
  if (argc > 6 && std::string_view(argv[6]) == "down") {
    const Result<void> ended = async::RunToEnd(loop, gateway.Stop(true));
    Answer(ended);
    return 0;
  }
  async::RunToEnd(loop, Serve(gateway, loop, input));
  return 0;
}

}  // namespace
}  // namespace cubeplane

int main(int argc, char** argv) { return cubeplane::Main(argc, argv); }
