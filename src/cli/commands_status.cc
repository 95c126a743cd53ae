// status, version.
#include <ctime>

#include "base/quantity.h"
#include "cli/context.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using json::Value;

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string Short(double number) {
  char text[32];
  snprintf(text, sizeof text, number == static_cast<int64_t>(number) || number >= 100 ? "%.0f" : "%.1f",
           number);
  return text;
}

double Amount(const Value& quantity) {
  const Result<Quantity> parsed =
      Quantity::Parse(quantity.IsString() ? quantity.AsString() : json::Write(quantity));
  return parsed ? static_cast<double>(parsed->nano()) / 1e9 : 0;
}

// "60 of 96 cores, 410 of 768 GiB"; what people ask for first, then the rest.
std::string Reserved(const Context& context, const Value& list) {
  std::string line;
  for (const Value& item : list.AsArray()) {
    const std::string& resource = item["resource"].AsString();
    const bool cpu = resource == "requests.cpu" || resource == "cpu";
    const bool memory = resource == "requests.memory" || resource == "memory";
    if (!cpu && !memory) continue;
    const double scale = memory ? kGiB : 1;
    const TextParams params = {{"used", Short(Amount(item["used"]) / scale)},
                               {"limit", Short(Amount(item["limit"]) / scale)}};
    line += (line.empty() ? "" : ", ") + context.T(cpu ? Text::kOfCores : Text::kOfGiB, params);
  }
  return line;
}

std::string Cards(const Context& context, const Value& list) {
  std::string line;
  for (const Value& item : list.AsArray()) {
    const TextParams params = {{"used", Short(Amount(item["reserved"]))},
                               {"limit", Short(Amount(item["limit"]))},
                               {"resource", item["resource"].AsString()}};
    line += (line.empty() ? "" : ", ") + context.T(Text::kOfCards, params);
  }
  return line;
}

std::string Clock(const Context& context, const Value& time) {
  const std::optional<Time> when = ParseTime(time.AsString());
  if (!when || !context.terminal.out_is_tty) return time.AsString();
  const time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(when->time_since_epoch()).count();
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[16];
  strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

std::string Waiting(const Context& context, const Value& waiting) {
  const int64_t count = waiting["workloads"].AsInt();
  std::string line = std::to_string(count);
  const Value& longest = waiting["longest"];
  if (count == 0 || longest.IsNull()) return line;
  const TextParams params = {{"time", FormatDuration(std::chrono::seconds(longest["seconds"].AsInt()))},
                             {"name", longest["project"].AsString() + "/" + longest["name"].AsString()},
                             {"why", ReasonText(context.terminal, longest["reason"])}};
  return line + context.T(Text::kLongest, params);
}

std::string GatewayWord(const Context& context, const Value& gateway) {
  if (gateway.IsNull()) return "-";
  if (gateway["healthy"].AsBool()) return context.T(Text::kOk);
  const std::string why =
      ReasonText(context.terminal, gateway["reason"].IsObject() ? gateway["reason"] : gateway);
  return why.empty() ? json::Write(gateway) : why;
}

void PrintStatus(Context& context, const Value& status) {
  Terminal& terminal = context.terminal;
  const json::Array& needs = status["needsYou"].AsArray();
  const std::string count = std::to_string(needs.size());
  terminal.out << context.T(needs.empty() ? Text::kAllWell : Text::kNeedsYou,
                            {{"host", Printable(status["host"].AsString())}, {"n", count}})
               << "   " << Printable(Clock(context, status["time"])) << '\n';
  const Value& control = status["control"];
  const std::string& store = control["store"].AsString();
  PrintField(terminal, context.T(Text::kFieldControl),
             context.T(Text::kControlLine,
                       {{"up", FormatDuration(std::chrono::seconds(control["uptimeSeconds"].AsInt()))},
                        {"store", store == "ok" ? context.T(Text::kOk) : store},
                        {"gateway", GatewayWord(context, control["gateway"])}}));
  if (const std::string cards = Cards(context, status["cards"]); !cards.empty()) {
    PrintField(terminal, context.T(Text::kFieldCards), cards);
  }
  if (const std::string reserved = Reserved(context, status["reserved"]); !reserved.empty()) {
    PrintField(terminal, context.T(Text::kFieldReserved), reserved);
  }
  PrintField(
      terminal, context.T(Text::kFieldRunning),
      context.T(Text::kInProjects, {{"n", std::to_string(status.At("running.workloads").AsInt())},
                                    {"projects", std::to_string(status.At("running.projects").AsInt())}}));
  PrintField(terminal, context.T(Text::kFieldWaiting), Waiting(context, status["waiting"]));
  std::string lines;
  for (const Value& need : needs) lines += (lines.empty() ? "" : "\n") + ReasonText(terminal, need);
  if (!lines.empty()) PrintField(terminal, context.T(Text::kFieldNeedsYou), lines);
  if (!status["next"].AsString().empty())
    PrintField(terminal, context.T(Text::kFieldNext), status["next"].AsString());
}

}  // namespace

Outcome<Exit> RunStatus(Context& context) {
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.path = "/api/v1/status"}));
  if (!PrintAs(context, answer.body, nullptr)) PrintStatus(context, answer.body);
  return kDone;
}

Outcome<Exit> RunVersion(Context& context) {
  json::Value version = json::Object{{"client", CUBEPLANE_VERSION}};
  Outcome<Api*> api = context.GetApi();
  Outcome<Answer> answer =
      api ? (*api)->Call({.path = "/version"}) : Outcome<Answer>(std::unexpected(api.error()));
  if (answer) version.Set("server", answer->body);
  if (PrintAs(context, version, nullptr)) return kDone;
  context.terminal.out << context.T(Text::kVersionClient, {{"version", CUBEPLANE_VERSION}}) << '\n';
  if (answer) {
    context.terminal.out << context.T(Text::kVersionServer,
                                      {{"version", Printable(answer->body["version"].AsString())}})
                         << '\n';
  } else {
    context.terminal.err << context.T(Text::kVersionNoServer) << '\n';
  }
  return kDone;
}

}  // namespace cubeplane::cli
