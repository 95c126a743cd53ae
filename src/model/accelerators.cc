// The table of cards: api/accelerators.yaml.
#include <cctype>

#include "model/fields.h"
#include "model/table_reader.h"
#include "model/tables.h"
#include "model/validate.h"

namespace cubeplane::model {
namespace {

constexpr char kFile[] = "api/accelerators.yaml";
constexpr char kDefaultVendor[] = "nvidia";  // of a request that names neither vendor nor model

void ReadRow(Fields& fields, Accelerator& row) {
  fields.Read("model", row.model);
  fields.Read("vendor", row.vendor);
  fields.Read("resource", row.resource);
  fields.Read("memoryMiB", row.memory_mib);
  fields.Read("priceClass", row.price_class);
}

std::vector<Accelerator> ReadRows() {
  const json::Value table(json::Object{{"rows", ReadTable(kFile, kAcceleratorsYaml)}});
  std::vector<Accelerator> rows;
  Problems problems;
  {
    Fields fields(table, "", problems);
    fields.ReadList<Accelerator>("rows", rows, Fields::kMaxList, ReadRow);
  }
  for (const Accelerator& row : rows) {
    if (row.vendor.empty() || row.resource.find('/') == std::string::npos) {
      problems.Add("rows", row.model, "a vendor, and a resource such as nvidia.com/gpu");
    }
  }
  CheckTable(kFile, problems);
  return rows;
}

bool SameWord(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i])))
      return false;
  }
  return true;
}

}  // namespace

const std::vector<Accelerator>& Accelerators() {
  static const std::vector<Accelerator> rows = ReadRows();
  return rows;
}

const Accelerator* FindAccelerator(std::string_view vendor, std::string_view model) {
  if (vendor.empty() && model.empty()) vendor = kDefaultVendor;
  for (const Accelerator& row : Accelerators()) {
    if (SameWord(row.model, model) && (vendor.empty() || SameWord(row.vendor, vendor))) return &row;
  }
  return nullptr;
}

}  // namespace cubeplane::model
