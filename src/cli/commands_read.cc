// get, describe, explain, project.
#include <algorithm>
#include <sstream>

#include "cli/kinds.h"
#include "cli/print.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using json::Value;

constexpr int kPage = 500;

struct Selection {
  const Kind* kind = nullptr;
  std::string project;             // "": all that the caller may see
  std::vector<std::string> names;  // empty: all
};

std::string ListPath(const Context& context, const Selection& selection) {
  std::string path = selection.project.empty()
                         ? ApiPath({selection.kind->plural})
                         : ApiPath({"projects", selection.project, selection.kind->plural});
  path += "?limit=" + std::to_string(kPage);
  if (!context.options.selector.empty())
    path += "&labelSelector=" + http::PercentEncode(context.options.selector);
  return path;
}

// The whole list, page after page.
Outcome<Value> List(Context& context, const Selection& selection) {
  CLI_ASSIGN(Api * api, context.GetApi());
  const std::string path = ListPath(context, selection);
  CLI_ASSIGN(Answer first, api->Call({.path = path}));
  Value list = std::move(first.body);
  std::string next = list.At("metadata.continue").AsString();
  while (!next.empty()) {
    CLI_ASSIGN(Answer page, api->Call({.path = path + "&continue=" + http::PercentEncode(next)}));
    json::Array& items = list.MakeObject()["items"].MakeArray();
    for (const Value& item : page.body["items"].AsArray()) items.push_back(item);
    next = page.body.At("metadata.continue").AsString();
  }
  if (list.Contains("metadata")) list.MakeObject()["metadata"].Erase("continue");
  return list;
}

Outcome<Value> Fetch(Context& context, const Selection& selection) {
  if (selection.names.empty()) return List(context, selection);
  CLI_ASSIGN(Api * api, context.GetApi());
  json::Array items;
  for (const std::string& name : selection.names) {
    CLI_ASSIGN(Answer answer, api->Call({.path = Ref{selection.kind, selection.project, name}.Path()}));
    if (selection.names.size() == 1) return std::move(answer.body);
    items.push_back(std::move(answer.body));
  }
  return Value(json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}});
}

void PrintTable(Context& context, const std::vector<std::pair<const Kind*, Value>>& lists,
                bool with_project) {
  const bool wide = context.options.output == "wide";
  bool any = false;
  for (const auto& [kind, list] : lists) {
    Table table(HeaderOf(context, *kind, wide, with_project));
    const auto add = [&](const Value& object) {
      table.Add(RowOf(context, *kind, object, wide, with_project));
    };
    if (list.Contains("items")) {
      for (const Value& item : list["items"].AsArray()) add(item);
    } else {
      add(list);
    }
    if (table.empty()) continue;
    if (any) context.terminal.out << '\n';
    table.Print(context.terminal, !context.options.no_headers);
    any = true;
  }
  if (!any) context.terminal.err << context.T(Text::kNothing) << '\n';
}

// One event of a watch as a line: the object itself with -o json, else a row.
void PrintEvent(Context& context, const Selection& selection, const Value& event, bool with_project) {
  const Value& object = event["object"];
  const std::string& name = object.At("metadata.name").AsString();
  if (!selection.names.empty() && std::ranges::find(selection.names, name) == selection.names.end()) return;
  if (context.options.output == "json") {
    context.terminal.out << json::Write(object) << '\n';
  } else if (!PrintAs(context, object, selection.kind)) {
    const bool wide = context.options.output == "wide";
    std::vector<Cell> row = RowOf(context, *selection.kind, object, wide, with_project);
    if (event["type"].AsString() == "DELETED") row.back().text = context.T(Text::kDeleted);
    Table table(HeaderOf(context, *selection.kind, wide, with_project));
    table.Add(std::move(row));
    table.Print(context.terminal, false);
  }
  context.terminal.out << std::flush;
}

// Streams events until Ctrl-C; goes on where it was after a lost connection, and from the present state after
// a 410.
Outcome<Exit> Watch(Context& context, const Selection& selection, std::string version, bool with_project) {
  CLI_ASSIGN(Api * api, context.GetApi());
  int lost = 0;
  for (;;) {
    std::string path = ListPath(context, selection) + "&watch=true&allowWatchBookmarks=true";
    if (!version.empty()) path += "&resourceVersion=" + version;
    std::string rest;
    const auto on_piece = [&](std::string_view piece) {
      lost = 0;
      rest += piece;
      for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
        const Result<Value> event = json::Parse(std::string_view(rest).substr(0, end));
        rest.erase(0, end + 1);
        if (!event) continue;
        if ((*event)["type"].AsString() == "ERROR") {
          if (event->At("object.code").AsInt() == 410) version.clear();
          return false;
        }
        version = event->At("object.metadata.resourceVersion").AsString();
        if ((*event)["type"].AsString() != "BOOKMARK") PrintEvent(context, selection, *event, with_project);
      }
      return true;
    };
    const Outcome<bool> ended = api->Stream(path, on_piece);
    if (!ended && ended.error().exit == kConflict) {
      version.clear();
    } else if (!ended && (ended.error().exit != kNoCubeplane || ++lost > 20)) {
      return std::unexpected(ended.error());
    }
    Wait(api->clock(), std::chrono::seconds(1));
  }
}

Outcome<Exit> Get(Context& context, const std::vector<Selection>& selections, bool with_project) {
  if (context.options.watch && selections.size() != 1) return Fail(kUsage, context.T(Text::kWatchOneKind));
  std::vector<std::pair<const Kind*, Value>> lists;
  for (const Selection& selection : selections) {
    CLI_ASSIGN(Value list, Fetch(context, selection));
    lists.emplace_back(selection.kind, std::move(list));
  }
  const std::string& output = context.options.output;
  if (context.options.watch) {
    const Value& list = lists[0].second;
    const json::Array one = {list};
    for (const Value& object : list.Contains("items") ? list["items"].AsArray() : one) {
      if (output == "json") context.terminal.out << json::Write(object) << '\n';
    }
    if (output != "json" && !PrintAs(context, list, lists[0].first)) PrintTable(context, lists, with_project);
    context.terminal.out << std::flush;
    return Watch(context, selections[0], list.At("metadata.resourceVersion").AsString(), with_project);
  }
  if (output.empty() || output == "wide") {
    PrintTable(context, lists, with_project);
    return kDone;
  }
  Value all = std::move(lists[0].second);
  for (size_t i = 1; i < lists.size(); ++i) {
    json::Array& items = all.MakeObject()["items"].MakeArray();
    for (const Value& item : lists[i].second["items"].AsArray()) items.push_back(item);
    all.Set("kind", "List");
  }
  PrintAs(context, all, selections[0].kind);
  return kDone;
}

Outcome<Exit> Describe(Context& context, const Found& found) {
  if (PrintAs(context, found.object, found.ref.kind)) return kDone;
  if (!found.ref.kind->in_project) {
    DescribeProject(context, found.object);
    return kDone;
  }
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer explanation, api->Call({.path = found.ref.Path() + "/explain"}));
  // Events live in the cluster, which may be silent; the page is worth having without them.
  const Outcome<Answer> events = api->Call({.path = found.ref.Path() + "/events"});
  DescribeWorkload(context, found, explanation.body, events ? events->body : Value());
  if (!events) context.terminal.err << context.T(Text::kNoEvents, {{"why", events.error().message}}) << '\n';
  return kDone;
}

}  // namespace

Outcome<Exit> RunGet(Context& context) {
  std::vector<std::string> words = context.options.args;
  if (words.empty()) return Fail(kUsage, context.T(Text::kGetWhat));
  // "job/digits" is "job digits".
  if (const size_t slash = words[0].find('/'); slash != std::string::npos) {
    words.insert(words.begin() + 1, words[0].substr(slash + 1));
    words[0].resize(slash);
  }
  std::vector<Selection> selections;
  std::stringstream kinds(words[0]);
  for (std::string word; std::getline(kinds, word, ',');) {
    if (word == "all" || word == "workloads" || word == "workload" || word == "wl") {
      for (const Kind& kind : WorkloadKinds())
        selections.push_back({.kind = &kind, .project = {}, .names = {}});
      continue;
    }
    const Kind* kind = FindKind(word);
    if (kind == nullptr) return Fail(kUsage, context.T(Text::kUnknownKind, {{"kind", word}}));
    selections.push_back({.kind = kind, .project = {}, .names = {}});
  }
  if (selections.empty()) return Fail(kUsage, context.T(Text::kGetWhat));
  words.erase(words.begin());
  if (!words.empty() && selections.size() != 1) return Fail(kUsage, context.T(Text::kNamesOneKind));

  std::string project = context.options.all_projects ? "" : context.options.project;
  for (Selection& selection : selections) {
    selection.names = words;
    if (!selection.kind->in_project) continue;
    if (!words.empty() && project.empty()) {
      CLI_ASSIGN(project, ChooseProject(context));
    }
    selection.project = project;
  }
  return Get(context, selections, project.empty());
}

Outcome<Exit> RunDescribe(Context& context) {
  CLI_ASSIGN(const std::vector<Found> all, ResolveAll(context));
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) context.terminal.out << '\n';
    CLI_TRY(Describe(context, all[i]));
  }
  return kDone;
}

Outcome<Exit> RunExplain(Context& context) {
  CLI_ASSIGN(const std::vector<Found> all, ResolveAll(context));
  CLI_ASSIGN(Api * api, context.GetApi());
  for (const Found& found : all) {
    if (!found.ref.kind->in_project) return Fail(kUsage, context.T(Text::kExplainWorkload));
    CLI_ASSIGN(const Answer answer, api->Call({.path = found.ref.Path() + "/explain"}));
    if (PrintAs(context, answer.body, found.ref.kind)) continue;
    DescribeWorkload(context, found, answer.body, {});
  }
  return kDone;
}

Outcome<Exit> RunProjectList(Context& context) {
  return Get(context, {{.kind = FindKind("project"), .project = {}, .names = {}}}, false);
}

Outcome<Exit> RunProjectDescribe(Context& context) {
  const Kind* kind = FindKind("project");
  if (context.options.args.empty()) return Fail(kUsage, context.T(Text::kNameMissing));
  for (const std::string& name : context.options.args) {
    CLI_ASSIGN(const Found found, Resolve(context, name, kind));
    CLI_TRY(Describe(context, found));
  }
  return kDone;
}

}  // namespace cubeplane::cli
