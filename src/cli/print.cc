#include "cli/print.h"

#include "base/clock.h"
#include "base/quantity.h"
#include "cli/width.h"
#include "json/json.h"
#include "model/reasons.h"

namespace cubeplane::cli {
namespace {

using json::Value;

std::vector<std::pair<std::string, std::string>> ParamsOf(const Value& reason) {
  std::vector<std::pair<std::string, std::string>> params;
  for (const auto& [key, value] : reason["params"].AsObject()) params.emplace_back(key, value.AsString());
  return params;
}

std::string Plain(const Value& value) { return value.IsString() ? value.AsString() : json::Write(value); }

// "500m" as people say it: "0.5".
std::string Cores(const std::string& cpu) {
  const Result<Quantity> parsed = Quantity::Parse(cpu);
  if (!parsed || !parsed->IsWholeMilli() || parsed->IsNegative()) return cpu;
  const int64_t milli = parsed->MilliValue();
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 != 0) {
    text += "." + std::to_string(1000 + milli % 1000).substr(1);
    text.resize(text.find_last_not_of('0') + 1);
  }
  return text;
}

// "32 of 96 requests.cpu, …": the fullest line of a binding's quota is what people look for first.
std::string QuotaLine(const Value& binding, const Value& used) {
  std::string line;
  for (const auto& [key, limit] : binding["quota"].AsObject()) {
    const std::string has = used.Contains(key) ? Plain(used[key]) : "0";
    line += (line.empty() ? "" : ", ") + key + " " + has + "/" + Plain(limit);
  }
  return line.empty() ? "-" : line;
}

// Use per binding stands in status.bindings, by cluster.
const Value& UsedOf(const Value& project, const std::string& cluster) {
  static const Value none;
  for (const Value& binding : project.At("status.bindings").AsArray()) {
    if (binding["cluster"].AsString() == cluster) return binding["used"];
  }
  return none;
}

std::string ReasonOrAddress(const Terminal& terminal, const Value& status) {
  const std::string reason = ReasonText(terminal, status["reason"]);
  if (!reason.empty()) return reason;
  const std::string& address = status["address"].AsString();
  return address.empty() ? "-" : address;
}

std::vector<Cell> ProjectRow(const Context& context, const Value& object, bool wide) {
  const Value& bindings = object.At("spec.bindings");
  std::string quota;
  for (const Value& binding : bindings.AsArray()) {
    const std::string cluster = binding.Contains("cluster") ? binding["cluster"].AsString() : "local";
    quota += (quota.empty() ? "" : "; ") + cluster + ": " + QuotaLine(binding, UsedOf(object, cluster));
  }
  std::vector<Cell> row{object.At("metadata.name").AsString(),
                        std::to_string(object.At("spec.members").AsArray().size()),
                        Since(context, object.At("metadata.createdAt"))};
  if (wide) row.emplace_back(object.At("metadata.uid").AsString());
  row.emplace_back(quota.empty() ? "-" : quota);
  return row;
}

}  // namespace

std::string PhaseWord(const Terminal& terminal, std::string_view phase) {
  if (phase == "waiting") return Say(terminal, Text::kWaiting);
  if (phase == "admitted") return Say(terminal, Text::kAdmitted);
  if (phase == "starting") return Say(terminal, Text::kStarting);
  if (phase == "running") return Say(terminal, Text::kRunning);
  if (phase == "stopping") return Say(terminal, Text::kStopping);
  if (phase == "succeeded") return Say(terminal, Text::kSucceeded);
  if (phase == "failed") return Say(terminal, Text::kFailedPhase);
  if (phase == "stopped") return Say(terminal, Text::kStopped);
  return std::string(phase);
}

std::string ReasonText(const Terminal& terminal, const Value& reason) {
  if (!reason["message"].AsString().empty()) return reason["message"].AsString();
  const std::string& code = reason["code"].AsString();
  return code.empty() ? "" : model::Render(code, ParamsOf(reason), terminal.language);
}

std::string ReasonNext(const Terminal& terminal, const Value& reason) {
  if (!reason["next"].AsString().empty()) return reason["next"].AsString();
  const std::string& code = reason["code"].AsString();
  return code.empty() ? "" : model::RenderNext(code, ParamsOf(reason), terminal.language);
}

std::string Since(const Context& context, const Value& time) {
  const std::optional<Time> then = ParseTime(time.AsString());
  if (!then) return "-";
  if (!context.terminal.out_is_tty) return time.AsString();
  return FormatDuration(SystemClock().Now() - *then);
}

std::string Asks(const Terminal& terminal, const Value& resources) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (resources.Contains("gpu")) add(Say(terminal, Text::kAsksGpu, {{"gpu", Plain(resources["gpu"])}}));
  if (resources.Contains("cpu"))
    add(Say(terminal, Text::kAsksCpu, {{"cpu", Cores(Plain(resources["cpu"]))}}));
  if (resources.Contains("memory"))
    add(Say(terminal, Text::kAsksMemory, {{"memory", Plain(resources["memory"])}}));
  return text.empty() ? "-" : text;
}

std::vector<std::string> HeaderOf(const Context& context, const Kind& kind, bool wide, bool with_project) {
  std::vector<std::string> header;
  if (with_project && kind.in_project) header.push_back(context.T(Text::kColProject));
  header.push_back(context.T(Text::kColName));
  if (!kind.in_project) {
    header.push_back(context.T(Text::kColMembers));
    header.push_back(context.T(Text::kColAge));
    if (wide) header.emplace_back("UID");
    header.push_back(context.T(Text::kColQuota));
    return header;
  }
  header.push_back(context.T(Text::kColState));
  header.push_back(context.T(Text::kColWho));
  header.push_back(context.T(Text::kColAge));
  if (wide) {
    header.push_back(context.T(Text::kColAsks));
    header.push_back(context.T(Text::kColNode));
    header.emplace_back("UID");
  }
  header.push_back(context.T(Text::kColWhy));
  return header;
}

std::vector<Cell> RowOf(const Context& context, const Kind& kind, const Value& object, bool wide,
                        bool with_project) {
  if (!kind.in_project) return ProjectRow(context, object, wide);
  const Value& metadata = object["metadata"];
  const Value& status = object["status"];
  const std::string& phase = status["phase"].AsString();
  std::string state = PhaseWord(context.terminal, phase);
  if (const int64_t place = status["place"].AsInt(); place > 0) state += " #" + std::to_string(place);
  std::vector<Cell> row;
  if (with_project) row.emplace_back(metadata["project"].AsString());
  row.emplace_back(metadata["name"].AsString());
  row.emplace_back(state, ColourOfPhase(phase));
  row.emplace_back(metadata["owner"].AsString());
  row.emplace_back(Since(context, metadata["createdAt"]));
  if (wide) {
    const json::Array& attempts = status["attempts"].AsArray();
    const std::string node = attempts.empty() ? "" : attempts.back()["node"].AsString();
    row.emplace_back(Asks(context.terminal, object.At("spec.resources")));
    row.emplace_back(node.empty() ? "-" : node);
    row.emplace_back(metadata["uid"].AsString());
  }
  row.emplace_back(ReasonOrAddress(context.terminal, status));
  return row;
}

bool PrintAs(Context& context, const Value& value, const Kind* kind) {
  const std::string& format = context.options.output;
  std::ostream& out = context.terminal.out;
  if (format == "json") {
    out << json::WritePretty(value) << '\n';
    return true;
  }
  if (format == "yaml") {
    out << json::WriteYaml(value);
    return true;
  }
  if (format != "name") return false;
  const json::Array& items = value["items"].AsArray();
  const auto print = [&](const Value& object) {
    const Kind* of = FindKind(object["kind"].AsString());
    if (of == nullptr) of = kind;
    out << (of == nullptr ? "" : std::string(of->singular) + "/") << object.At("metadata.name").AsString()
        << '\n';
  };
  if (value.Contains("items")) {
    for (const Value& item : items) print(item);
  } else {
    print(value);
  }
  return true;
}

void DescribeProject(Context& context, const Value& project) {
  Terminal& terminal = context.terminal;
  const Value& spec = project["spec"];
  const std::string& shown = spec["displayName"].AsString();
  terminal.out << Printable(project.At("metadata.name").AsString()) << "  " << context.T(Text::kAProject)
               << (shown.empty() ? "" : "  " + Printable(shown)) << '\n';
  std::string members;
  for (const Value& member : spec["members"].AsArray()) {
    members +=
        (members.empty() ? "" : ", ") + member["user"].AsString() + " (" + member["role"].AsString() + ")";
  }
  PrintField(terminal, context.T(Text::kFieldMembers), members.empty() ? "-" : members);
  for (const Value& binding : spec["bindings"].AsArray()) {
    const std::string cluster = binding.Contains("cluster") ? binding["cluster"].AsString() : "local";
    const Value& used = UsedOf(project, cluster);
    std::string lines;
    for (const auto& [key, limit] : binding["quota"].AsObject()) {
      const TextParams params = {
          {"key", key}, {"used", used.Contains(key) ? Plain(used[key]) : "0"}, {"limit", Plain(limit)}};
      lines += (lines.empty() ? "" : "\n") + context.T(Text::kQuotaUse, params);
    }
    PrintField(terminal, context.T(Text::kFieldQuota), cluster + "\n" + (lines.empty() ? "-" : lines));
  }
  for (const Value& condition : project.At("status.conditions").AsArray()) {
    const std::string why = ReasonText(
        terminal, Value(json::Object{{"code", condition["reason"]}, {"params", condition["params"]}}));
    PrintField(terminal, condition["type"].AsString(),
               condition["status"].AsString() + (why.empty() ? "" : ": " + why));
  }
}

}  // namespace cubeplane::cli
