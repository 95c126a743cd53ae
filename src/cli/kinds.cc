#include "cli/kinds.h"

#include <algorithm>
#include <cstdlib>

namespace cubeplane::cli {
namespace {

const std::vector<Kind> kKinds = {{"TrainingJob", "trainingjobs", "trainingjob", true},
                                  {"Notebook", "notebooks", "notebook", true},
                                  {"Project", "projects", "project", false}};
struct Alias {
  std::string_view word, kind;
};
constexpr Alias kAliases[] = {{"job", "TrainingJob"},      {"jobs", "TrainingJob"}, {"tj", "TrainingJob"},
                              {"nb", "Notebook"},          {"proj", "Project"},     {"任务", "TrainingJob"},
                              {"训练任务", "TrainingJob"}, {"项目组", "Project"}};

std::string Lower(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return c < 0x80 ? std::tolower(c) : c; });
  return lower;
}

std::string NamesOf(const json::Value& projects) {
  std::string names;
  for (const json::Value& project : projects["items"].AsArray()) {
    names += (names.empty() ? "" : ", ") + project.At("metadata.name").AsString();
  }
  return names;
}

Outcome<Found> Get(Context& context, Ref ref) {
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(Answer answer, api->Call({.path = ref.Path()}));
  return Found{std::move(ref), std::move(answer.body)};
}

}  // namespace

const std::vector<Kind>& WorkloadKinds() {
  static const std::vector<Kind> kinds(kKinds.begin(), kKinds.begin() + 2);
  return kinds;
}

const Kind* FindKind(std::string_view word) {
  std::string lower = Lower(word);
  for (const Alias& alias : kAliases) {
    if (alias.word == lower) lower = Lower(alias.kind);
  }
  for (const Kind& kind : kKinds) {
    if (lower == kind.singular || lower == kind.plural) return &kind;
  }
  return nullptr;
}

std::string Ref::Path() const {
  return kind->in_project ? ApiPath({"projects", project, kind->plural, name})
                          : ApiPath({kind->plural, name});
}

std::string Ref::Shown() const { return std::string(kind->singular) + "/" + name; }

Outcome<std::string> ChooseProject(Context& context) {
  if (!context.options.project.empty()) return context.options.project;
  if (const char* project = std::getenv("CUBEPLANE_PROJECT"); project != nullptr && *project != 0)
    return project;
  if (const Saved saved = ReadSaved(); !saved.project.empty()) return saved.project;
  CLI_ASSIGN(Api * api, context.GetApi());
  CLI_ASSIGN(const Answer answer, api->Call({.path = "/api/v1/projects?limit=20"}));
  const json::Array& projects = answer.body["items"].AsArray();
  if (projects.size() == 1) return projects[0].At("metadata.name").AsString();
  if (projects.empty()) return Fail(kUsage, context.T(Text::kNoProject), context.T(Text::kNoProjectNext));
  return Fail(kUsage, context.T(Text::kWhichProject, {{"names", NamesOf(answer.body)}}));
}

Outcome<Found> Resolve(Context& context, std::string_view word, const Kind* kind) {
  if (const size_t slash = word.find('/'); slash != std::string_view::npos) {
    kind = FindKind(word.substr(0, slash));
    if (kind == nullptr) {
      return Fail(kUsage, context.T(Text::kUnknownKind, {{"kind", std::string(word.substr(0, slash))}}));
    }
    word.remove_prefix(slash + 1);
  }
  if (word.empty()) return Fail(kUsage, context.T(Text::kNameMissing));
  std::string project;
  if (kind == nullptr || kind->in_project) {
    CLI_ASSIGN(project, ChooseProject(context));
  }
  if (kind != nullptr) return Get(context, {kind, project, std::string(word)});

  std::vector<Found> found;
  for (const Kind& candidate : WorkloadKinds()) {
    Outcome<Found> got = Get(context, {&candidate, project, std::string(word)});
    if (got) {
      found.push_back(std::move(*got));
    } else if (got.error().exit != kNotFound) {
      return std::unexpected(std::move(got.error()));
    }
  }
  if (found.size() == 1) return std::move(found[0]);
  const TextParams params = {{"name", std::string(word)}, {"project", project}};
  if (found.empty())
    return Fail(kNotFound, context.T(Text::kNoWorkload, params), context.T(Text::kNoWorkloadNext, params));
  return Fail(kUsage, context.T(Text::kTwoOfThatName, params));
}

Outcome<std::vector<Found>> ResolveAll(Context& context) {
  std::vector<std::string> words = context.options.args;
  const Kind* kind = nullptr;
  if (words.size() > 1 && (kind = FindKind(words[0])) != nullptr) words.erase(words.begin());
  if (words.empty()) return Fail(kUsage, context.T(Text::kNameMissing));
  std::vector<Found> all;
  for (const std::string& word : words) {
    CLI_ASSIGN(Found found, Resolve(context, word, kind));
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace cubeplane::cli
