// Whatever is read is read back from its own canonical text, and sums can be undone.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/quantity.h"

using cubeplane::Quantity;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = Quantity::Parse(text);
  if (!quantity) return 0;
  const auto again = Quantity::Parse(quantity->ToString());
  if (!again || *again != *quantity) std::abort();
  const auto half = Quantity::Parse(text.substr(0, size / 2));
  if (!half) return 0;
  const auto sum = Quantity::Sum(*quantity, *half);
  if (!sum) std::abort();
  const auto back = Quantity::Difference(*sum, *half);
  if (!back || *back != *quantity) std::abort();
  return 0;
}
