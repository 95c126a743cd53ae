// The page of `describe` for a workload.
#include "base/clock.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using json::Value;

constexpr size_t kShownEvents = 10;

std::string Between(const Value& from, const Value& to) {
  const std::optional<Time> start = ParseTime(from.AsString());
  const std::optional<Time> end = ParseTime(to.AsString());
  return start && end ? FormatDuration(*end - *start) : "";
}

// "digits  TrainingJob in demo, waiting 41m, place 3".
void PrintHead(Context& context, const Found& found) {
  const Value& status = found.object["status"];
  const std::string& phase = status["phase"].AsString();
  const std::string state = Paint(context.terminal, ColourOfPhase(phase), PhaseWord(context.terminal, phase));
  const Value& since = phase == "waiting"   ? status["waitingSince"]
                       : phase == "running" ? status["startedAt"]
                                            : status["endedAt"];
  std::string line = context.T(Text::kDescribeHead, {{"name", Printable(found.ref.name)},
                                                     {"kind", std::string(found.ref.kind->kind)},
                                                     {"project", Printable(found.ref.project)},
                                                     {"state", state}});
  if (!since.IsNull() && context.terminal.out_is_tty) line += " " + Since(context, since);
  if (!since.IsNull() && !context.terminal.out_is_tty)
    line += context.T(Text::kDescribeSince, {{"time", since.AsString()}});
  if (const int64_t place = status["place"].AsInt(); place > 0) {
    line += context.T(Text::kDescribePlace, {{"n", std::to_string(place)}});
  }
  context.terminal.out << line << '\n';
}

void PrintReasons(Context& context, const Found& found, const Value& explanation) {
  std::string why, next;
  const auto add = [](std::string& text, const std::string& line) {
    if (!line.empty() && text.find(line) == std::string::npos) text += (text.empty() ? "" : "\n") + line;
  };
  add(why, explanation["message"].AsString());
  if (why.empty()) add(why, ReasonText(context.terminal, found.object.At("status.reason")));
  for (const Value& reason : explanation["reasons"].AsArray()) {
    add(why, ReasonText(context.terminal, reason));
    add(next, ReasonNext(context.terminal, reason));
  }
  if (next.empty()) add(next, explanation["next"].AsString());
  std::string ahead;
  for (const Value& other : explanation["ahead"].AsArray()) {
    ahead += (ahead.empty() ? "" : ", ") + other["name"].AsString() + " " +
             Asks(context.terminal, other["resources"]);
  }
  if (!why.empty()) PrintField(context.terminal, context.T(Text::kFieldWhy), why);
  if (!next.empty()) PrintField(context.terminal, context.T(Text::kFieldWayOut), next);
  if (!ahead.empty()) PrintField(context.terminal, context.T(Text::kFieldAhead), ahead);
}

void PrintAttempts(Context& context, const Value& status) {
  std::string lines;
  for (const Value& attempt : status["attempts"].AsArray()) {
    std::string line =
        context.T(Text::kAttemptLine,
                  {{"n", std::to_string(attempt["number"].AsInt())},
                   {"node", attempt["node"].AsString().empty() ? "-" : attempt["node"].AsString()}});
    if (const std::string took = Between(attempt["startedAt"], attempt["endedAt"]); !took.empty())
      line += ", " + took;
    if (attempt.Contains("exitCode")) {
      line += ", " + context.T(Text::kExitCode, {{"n", std::to_string(attempt["exitCode"].AsInt())}});
    }
    if (!attempt["proof"].AsString().empty()) line += ", " + attempt["proof"].AsString();
    lines += (lines.empty() ? "" : "\n") + line;
  }
  if (!lines.empty()) PrintField(context.terminal, context.T(Text::kFieldAttempts), lines);
  if (const int64_t restarts = status["restarts"].AsInt(); restarts > 0) {
    PrintField(context.terminal, context.T(Text::kFieldRestarts), std::to_string(restarts));
  }
}

// A result that is a JSON object is shown a field a line.
void PrintResult(Context& context, const Value& status) {
  const Value& result = status["result"];
  if (result.IsNull()) return;
  const Result<Value> parsed = result.IsString() ? json::Parse(result.AsString()) : Result<Value>(result);
  std::string lines;
  if (parsed && parsed->IsObject()) {
    for (const auto& [key, value] : parsed->AsObject()) {
      const std::string text = value.IsString() ? value.AsString() : json::Write(value);
      lines += (lines.empty() ? "" : "\n") + key + " " + text;
    }
  } else {
    lines = result.IsString() ? result.AsString() : json::Write(result);
  }
  PrintField(context.terminal, context.T(Text::kFieldResult), lines);
}

void PrintEvents(Context& context, const Value& events) {
  const json::Array& items = events["items"].AsArray();
  std::string lines;
  for (size_t i = items.size() > kShownEvents ? items.size() - kShownEvents : 0; i < items.size(); ++i) {
    lines += (lines.empty() ? "" : "\n") + Since(context, items[i]["lastSeen"]) + "  " +
             items[i]["reason"].AsString() + "  " + items[i]["message"].AsString();
  }
  if (!lines.empty()) PrintField(context.terminal, context.T(Text::kFieldEvents), lines);
}

std::string NextCommands(const Context& context, const Found& found) {
  const std::string& phase = found.object.At("status.phase").AsString();
  const std::string target = found.ref.Shown() + " -p " + found.ref.project;
  const bool notebook = found.ref.kind->kind == "Notebook";
  if (phase == "running" && notebook) return "cubeplane open " + target + " | stop " + target;
  if (phase == "stopped" && notebook) return "cubeplane start " + target;
  if (phase == "succeeded" || phase == "failed" || phase == "stopped") return "cubeplane logs " + target;
  return "cubeplane logs -f " + target + " | stop " + target;
}

}  // namespace

void DescribeWorkload(Context& context, const Found& found, const Value& explanation, const Value& events) {
  const Value& status = found.object["status"];
  PrintHead(context, found);
  PrintReasons(context, found, explanation);
  PrintField(context.terminal, context.T(Text::kFieldAsks),
             Asks(context.terminal, found.object.At("spec.resources")));
  PrintField(context.terminal, context.T(Text::kFieldWho), found.object.At("metadata.owner").AsString());
  if (const std::string took = Between(status["startedAt"], status["endedAt"]); !took.empty()) {
    PrintField(context.terminal, context.T(Text::kFieldTook), took);
  }
  PrintAttempts(context, status);
  PrintResult(context, status);
  if (!status["address"].AsString().empty()) {
    PrintField(context.terminal, context.T(Text::kFieldAddress), status["address"].AsString());
  }
  PrintEvents(context, events);
  PrintField(context.terminal, context.T(Text::kFieldNext), NextCommands(context, found));
}

}  // namespace cubeplane::cli
