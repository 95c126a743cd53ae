#include "state/binding_rows.h"

#include <map>

#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::state {
namespace {

// The codec knows whole projects; a row is a project of one binding.
std::string Text(const model::Binding& binding) {
  model::Project project;
  project.metadata.name = "binding";
  project.spec.bindings = {binding};
  return json::Write(model::ToJson(project));
}

}  // namespace

Result<model::Binding> ParseBinding(const storage::BindingRow& row) {
  auto value = json::Parse(row.json);
  if (!value) return Fail(Code::kInternal, "binding " + row.id + " in the store: " + value.error().message);
  auto project = model::ProjectFromStore(*value);
  if (!project) return Fail(project.error().Wrap("binding " + row.id + " in the store"));
  if (project->spec.bindings.size() != 1)
    return Fail(Code::kInternal, "binding " + row.id + " in the store is empty");
  return std::move(project->spec.bindings.front());
}

Result<void> SaveBindings(storage::Txn& txn, const model::Project& project) {
  const std::string& name = project.metadata.name;
  ASSIGN_OR_RETURN(const auto rows, txn.Bindings(name));
  std::map<std::string, storage::BindingRow> old;
  for (const storage::BindingRow& row : rows) old.emplace(row.cluster, row);
  for (const model::Binding& binding : project.spec.bindings) {
    storage::BindingRow row{project.metadata.uid + "/" + binding.cluster, name, binding.cluster, 1,
                            Text(binding)};
    const auto known = old.find(binding.cluster);
    if (known != old.end()) {
      row.version = known->second.version + (known->second.json == row.json ? 0 : 1);
      old.erase(known);
    }
    RETURN_IF_ERROR(txn.PutBinding(row));
  }
  for (const auto& [cluster, row] : old) {
    ASSIGN_OR_RETURN(const auto living, txn.LiveReservations(row.id));
    if (!living.empty())
      return Fail(
          Error(Code::kConflict, "binding_in_use", {{"project", name}, {"cluster", cluster}},
                "project " + name + " has work in cluster " + cluster + "; end it before the binding goes"));
    RETURN_IF_ERROR(txn.DeleteBinding(row.id));
  }
  return {};
}

}  // namespace cubeplane::state
