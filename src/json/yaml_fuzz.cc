// Whatever bytes come: no crash, bounded work, and what is read can be written as YAML and read again as the
// same value.
#include <cstdint>
#include <cstdlib>

#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace json = cubeplane::json;
  const json::Limits limits{.max_bytes = 1u << 14, .max_depth = 32, .max_nodes = 10'000};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto documents = json::ParseYaml(text, limits);
  if (!documents) return 0;
  for (const json::Value& value : *documents) {
    const auto again = json::ParseYaml(json::WriteYaml(value));
    if (!again || again->size() != (value.IsNull() ? 0u : 1u)) std::abort();
    if (!again->empty() && !(again->front() == value)) std::abort();
  }
  return 0;
}
