// apply, submit, stop, start, delete, open.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/archive.h"
#include "cli/files.h"
#include "cli/kinds.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using json::Value;

constexpr size_t kMaxManifest = 2u << 20;

// "?dryRun=All" with --dry-run.
std::string Query(const Context& context) { return context.options.dry_run ? "?dryRun=All" : ""; }

Outcome<std::vector<Value>> ReadManifests(Context& context, const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxManifest);
  if (!text) {
    return Fail(text.error().code == Code::kTooLarge ? kInvalid : kUsage,
                context.T(Text::kCannotRead, {{"path", path}, {"why", text.error().message}}));
  }
  Result<std::vector<Value>> documents = json::ParseYaml(*text);
  if (!documents)
    return Fail(kInvalid,
                context.T(Text::kBadManifest, {{"path", path}, {"why", documents.error().message}}));
  if (documents->empty()) return Fail(kInvalid, context.T(Text::kEmptyManifest, {{"path", path}}));
  return std::move(*documents);
}

// A folder's manifests in the order of their names, as kubectl takes them.
Outcome<std::vector<std::string>> ManifestFiles(Context& context, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string ending = it->path().extension();
    if (ending == ".yaml" || ending == ".yml" || ending == ".json") files.push_back(it->path());
  }
  std::ranges::sort(files);
  if (files.empty()) return Fail(kUsage, context.T(Text::kNoManifests, {{"path", path}}));
  return files;
}

// A workload without a project gets the one of -p (or the only one).
Outcome<> FillProject(Context& context, Value& manifest) {
  const Kind* kind = FindKind(manifest["kind"].AsString());
  const std::string own = manifest.At("metadata.project").AsString();
  if (kind == nullptr || !kind->in_project || !manifest["metadata"].IsObject()) return {};
  if (!own.empty() && !context.options.project.empty() && own != context.options.project) {
    return Fail(kUsage, context.T(Text::kOtherProject, {{"own", own}, {"asked", context.options.project}}));
  }
  if (!own.empty()) return {};
  CLI_ASSIGN(const std::string project, ChooseProject(context));
  manifest.MakeObject()["metadata"].Set("project", project);
  return {};
}

std::string ShownName(const Value& object) {
  const Kind* kind = FindKind(object["kind"].AsString());
  return (kind == nullptr ? object["kind"].AsString() : std::string(kind->singular)) + "/" +
         Printable(object.At("metadata.name").AsString());
}

void PrintChange(Context& context, const Value& object, Text what) {
  if (PrintAs(context, object, nullptr)) return;
  context.terminal.out << context.T(what, {{"name", ShownName(object)}})
                       << (context.options.dry_run ? context.T(Text::kDryRunMark) : "") << '\n';
}

// What a manifest can change of an object.
Value Written(const Value& object) {
  return json::Array{object["spec"], object.At("metadata.labels"), object.At("metadata.annotations")};
}

Outcome<Exit> ApplyOne(Context& context, Value manifest) {
  CLI_TRY(FillProject(context, manifest));
  CLI_ASSIGN(Api * api, context.GetApi());
  Value before;
  const Kind* kind = FindKind(manifest["kind"].AsString());
  if (kind != nullptr && !manifest.At("metadata.name").AsString().empty()) {
    const Ref ref{kind, manifest.At("metadata.project").AsString(), manifest.At("metadata.name").AsString()};
    if (const Outcome<Answer> present = api->Call({.path = ref.Path()})) before = Written(present->body);
  }
  CLI_ASSIGN(const Answer answer, api->Call({.method = "POST",
                                             .path = "/api/v1/apply" + Query(context),
                                             .body = json::Write(manifest),
                                             .once = true}));
  const bool unchanged = !before.IsNull() && before == Written(answer.body);
  PrintChange(context, answer.body,
              answer.status == 201 ? Text::kCreated
              : unchanged          ? Text::kUnchanged
                                   : Text::kConfigured);
  return kDone;
}

Outcome<Value> JobOf(Context& context, const std::string& path) {
  CLI_ASSIGN(std::vector<Value> documents, ReadManifests(context, path));
  if (documents.size() != 1) return Fail(kInvalid, context.T(Text::kOneJob, {{"path", path}}));
  Value job = std::move(documents[0]);
  if (!context.options.name.empty()) job.MakeObject()["metadata"].Set("name", context.options.name);
  return job;
}

Outcome<std::string> UploadCode(Context& context, const std::string& folder) {
  const Result<Packed> packed = PackFolder(folder);
  if (!packed)
    return Fail(packed.error().code == Code::kNotFound ? kUsage : kInvalid, packed.error().message);
  context.terminal.err << context.T(Text::kPacked,
                                    {{"n", std::to_string(packed->files)},
                                     {"size", std::to_string((packed->archive.size() + 1023) / 1024)}})
                       << '\n';
  if (context.options.dry_run) return "";
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.method = "POST",
                                             .path = "/api/v1/code",
                                             .body = packed->archive,
                                             .content_type = "application/gzip",
                                             .once = true}));
  return answer.body["digest"].AsString();
}

void PrintSubmitted(Context& context, const Value& object) {
  PrintChange(context, object, Text::kAccepted);
  if (!context.options.output.empty() || context.options.dry_run) return;
  const std::string why = ReasonText(context.terminal, object.At("status.reason"));
  if (!why.empty()) context.terminal.err << why << '\n';
  const Kind* kind = FindKind(object["kind"].AsString());
  const std::string name = ShownName(object) + " -p " + object.At("metadata.project").AsString();
  const bool notebook = kind != nullptr && kind->kind == "Notebook";
  context.terminal.err << context.T(notebook ? Text::kNextOpen : Text::kNextLogs, {{"name", name}}) << '\n';
}

Outcome<Exit> PostEach(Context& context, std::string_view verb, Text said) {
  CLI_ASSIGN(const std::vector<Found> all, ResolveAll(context));
  CLI_ASSIGN(Api * api, context.GetApi());
  for (const Found& found : all) {
    if (!found.ref.kind->in_project) return Fail(kUsage, context.T(Text::kNotForProjects));
    CLI_ASSIGN(const Answer answer,
               api->Call({.method = "POST",
                          .path = found.ref.Path() + "/" + std::string(verb) + Query(context),
                          .once = true}));
    PrintChange(context, answer.body, said);
  }
  return kDone;
}

std::string ThisHost() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "HOST";
}

// The plan is shown before anything goes; without a terminal --yes says that it was read.
Outcome<> Sure(Context& context, const std::vector<Found>& all) {
  if (context.options.yes || context.options.dry_run) return {};
  for (const Found& found : all) {
    const Text plan = found.ref.kind->in_project ? Text::kDeletePlan : Text::kDeleteProjectPlan;
    const std::string state = PhaseWord(context.terminal, found.object.At("status.phase").AsString());
    context.terminal.err << context.T(plan, {{"name", found.ref.Shown()},
                                             {"project", found.ref.project},
                                             {"state", state}})
                         << '\n';
  }
  if (!context.terminal.in_is_tty) return Fail(kUsage, context.T(Text::kNeedsYes));
  if (!Confirm(context.terminal, context.T(Text::kDeleteQuestion)))
    return Fail(kFailed, context.T(Text::kNothingDone));
  return {};
}

}  // namespace

Outcome<Exit> RunApply(Context& context) {
  if (context.options.file.empty()) return Fail(kUsage, context.T(Text::kFileMissing));
  CLI_ASSIGN(const std::vector<std::string> files, ManifestFiles(context, context.options.file));
  std::vector<Value> all;
  for (const std::string& file : files) {
    CLI_ASSIGN(std::vector<Value> documents, ReadManifests(context, file));
    std::ranges::move(documents, std::back_inserter(all));
  }
  // A project comes before what lives in it, wherever it stands.
  for (const bool projects : {true, false}) {
    for (const Value& document : all) {
      if ((document["kind"].AsString() == "Project") == projects) CLI_TRY(ApplyOne(context, document));
    }
  }
  return kDone;
}

Outcome<Exit> RunSubmit(Context& context) {
  const std::string& folder = context.options.args.empty() ? "" : context.options.args[0];
  if (folder.empty() == context.options.file.empty() || context.options.args.size() > 1) {
    return Fail(kUsage, context.T(Text::kSubmitWhat));
  }
  CLI_ASSIGN(Value job, JobOf(context, folder.empty() ? context.options.file : folder + "/job.yaml"));
  const Kind* kind = FindKind(job["kind"].AsString());
  if (kind == nullptr || !kind->in_project)
    return Fail(kInvalid, context.T(Text::kNoWorkloadKind, {{"kind", job["kind"].AsString()}}));
  // -p and --name are for running the same folder elsewhere and again.
  if (!context.options.project.empty()) job.MakeObject()["metadata"].Set("project", context.options.project);
  CLI_TRY(FillProject(context, job));
  if (!folder.empty()) {
    CLI_ASSIGN(const std::string digest, UploadCode(context, folder));
    if (!digest.empty()) job.MakeObject()["spec"].Set("code", digest);
  }
  CLI_ASSIGN(Api * api, context.GetApi());
  const std::string path =
      ApiPath({"projects", job.At("metadata.project").AsString(), kind->plural}) + Query(context);
  CLI_ASSIGN(const Answer answer,
             api->Call({.method = "POST", .path = path, .body = json::Write(job), .once = true}));
  PrintSubmitted(context, answer.body);
  return kDone;
}

Outcome<Exit> RunStop(Context& context) { return PostEach(context, "stop", Text::kStopAsked); }

Outcome<Exit> RunStart(Context& context) { return PostEach(context, "start", Text::kStartAsked); }

Outcome<Exit> RunDelete(Context& context) {
  CLI_ASSIGN(const std::vector<Found> all, ResolveAll(context));
  CLI_TRY(Sure(context, all));
  CLI_ASSIGN(Api * api, context.GetApi());
  for (const Found& found : all) {
    CLI_ASSIGN(const Answer answer,
               api->Call({.method = "DELETE", .path = found.ref.Path() + Query(context), .once = true}));
    const Value& shown = answer.body["kind"].AsString() == "Status" ? found.object : answer.body;
    PrintChange(context, shown, Text::kDeleteAsked);
  }
  return kDone;
}

Outcome<Exit> RunOpen(Context& context) {
  if (context.options.args.size() != 1) return Fail(kUsage, context.T(Text::kOpenWhat));
  CLI_ASSIGN(const Found found, Resolve(context, context.options.args[0], FindKind("notebook")));
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.method = "POST", .path = found.ref.Path() + "/open"}));
  if (PrintAs(context, answer.body, nullptr)) return kDone;
  const std::string url = Printable(answer.body["url"].AsString());
  context.terminal.out << url << std::endl;
  const size_t colon = url.find(':', url.find("//") + 2);
  const std::string port =
      colon == std::string::npos ? "80" : url.substr(colon + 1, url.find('/', colon) - colon - 1);
  context.terminal.err << context.T(Text::kOpenHint, {{"port", port}, {"host", ThisHost()}}) << '\n';
  return kDone;
}

}  // namespace cubeplane::cli
