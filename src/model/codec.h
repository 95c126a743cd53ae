// Objects to JSON and back. Pure.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "model/objects.h"

namespace cubeplane::model {

// Reads what a person wrote: apiVersion, kind, metadata, spec (status is ignored). Unknown fields, wrong
// types and bad quantities are all collected: kInvalid with one FieldProblem each. Does not default and does
// not check beyond types.
Result<Object> ParseObject(const json::Value& value);
Result<Project> ParseProject(const json::Value& value);
Result<Workload> ParseWorkload(const json::Value& value);

// The whole object with status, as the API serves it (field names in camelCase; times RFC 3339; phases and
// reasons as codes). `uid`, `owner`, `createdAt`, `deletedAt`, `resourceVersion` (a string) and `generation`
// stand in metadata.
json::Value ToJson(const Project& project);
json::Value ToJson(const Workload& workload);

// Reads back exactly what ToJson wrote (the store's form), status included. Errors are kInternal: the store
// is ours.
Result<Project> ProjectFromStore(const json::Value& value);
Result<Workload> WorkloadFromStore(const json::Value& value);

// GPU text. kInvalid with found and allowed.
Result<GpuRequest> ParseGpu(std::string_view text);
std::string GpuText(const GpuRequest& gpu);

}  // namespace cubeplane::model
