// Kinds as people type them, and which object a word on the command line means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace cubeplane::cli {

struct Kind {
  std::string_view kind;      // "TrainingJob"
  std::string_view plural;    // "trainingjobs": in paths
  std::string_view singular;  // "trainingjob": in `-o name`
  bool in_project = true;
};

// "job", "jobs", "trainingjob", "TrainingJob", "nb", "project", …; null when unknown.
const Kind* FindKind(std::string_view word);
const std::vector<Kind>& WorkloadKinds();

// An object: kind, project ("" for kinds without), name.
struct Ref {
  const Kind* kind = nullptr;
  std::string project, name;
  std::string Path() const;   // "/api/v1/projects/demo/notebooks/nb"
  std::string Shown() const;  // "notebook/nb"
};

// The project that -p, CUBEPLANE_PROJECT or the log-in name, else the only one the caller is in. kUsage when
// it is unclear.
Outcome<std::string> ChooseProject(Context& context);

// What `word` ("nb", "job/digits") names, of `kind` when given. A bare name is looked for among all kinds of
// workload; kNotFound, or kUsage when two have it. The object comes along.
struct Found {
  Ref ref;
  json::Value object;
};
Outcome<Found> Resolve(Context& context, std::string_view word, const Kind* kind = nullptr);

// args as "job NAME…" or "job/NAME…" or "NAME…".
Outcome<std::vector<Found>> ResolveAll(Context& context);

}  // namespace cubeplane::cli
