// Objects that people send: read, held against the path they were sent to.
#pragma once

#include <optional>
#include <string>

#include "apiserver/context.h"

namespace cubeplane::apiserver {

// What was sent, and the version that must be the present one.
template <class T>
struct Sent {
  T object;
  std::optional<int64_t> expected;
};

// kInvalid when metadata.name is not the path's (where the path has one).
Result<Sent<model::Project>> ReadProject(const Context& context, const json::Value& body);
// The same for kind and metadata.project, which may be left out of the body.
Result<Sent<model::Workload>> ReadWorkload(const Context& context, json::Value body);

// "createNotebook" of "create" and the kind.
std::string OperationFor(std::string_view verb, model::WorkloadKind kind);

// Shared by PUT and `apply`.
async::Task<Answer> ApplyProjectObject(Context& context, Sent<model::Project> sent);
async::Task<Answer> ApplyWorkloadObject(Context& context, Sent<model::Workload> sent);

}  // namespace cubeplane::apiserver
