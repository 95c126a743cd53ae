// Whatever bytes come: no crash, and what is read can be written and read again as the same value.
#include <cstdint>
#include <cstdlib>

#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace json = cubeplane::json;
  const json::Limits limits{.max_bytes = 1u << 16, .max_depth = 32, .max_nodes = 10'000};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = json::Parse(text, limits);
  if (!value) return 0;
  const auto again = json::Parse(json::Write(*value));
  if (!again || !(*again == *value)) std::abort();
  const auto pretty = json::Parse(json::WritePretty(*value));
  if (!pretty || !(*pretty == *value)) std::abort();
  return 0;
}
