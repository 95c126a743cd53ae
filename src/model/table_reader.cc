#include "model/table_reader.h"

#include <cstdio>
#include <cstdlib>

#include "json/json.h"

namespace cubeplane::model {
namespace {

[[noreturn]] void Die(std::string_view name, const std::string& message) {
  std::fprintf(stderr, "cubeplane: built-in table %.*s: %s\n", static_cast<int>(name.size()), name.data(),
               message.c_str());
  std::abort();
}

}  // namespace

json::Value ReadTable(std::string_view name, std::string_view yaml) {
  auto documents = json::ParseYaml(yaml);
  if (!documents) Die(name, documents.error().message);
  if (documents->size() != 1) Die(name, "one document expected");
  return std::move(documents->front());
}

void CheckTable(std::string_view name, const Problems& problems) {
  if (!problems.empty()) Die(name, problems.ToError().message);
}

}  // namespace cubeplane::model
