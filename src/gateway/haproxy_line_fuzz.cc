// Whatever words come in, a line that comes out is one command: one newline, at the end, and none of
// HAProxy's own signs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "gateway/lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cubeplane;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= input.size();) {
    const size_t end = std::min(input.find('\0', at), input.size());
    words.push_back(input.substr(at, end - at));
    at = end + 1;
  }
  const auto line = gateway::AdminLine(words);
  if (line) {
    if (line->find('\n') != line->size() - 1 || line->size() > gateway::kMaxLine) std::abort();
    if (line->find_first_of(";\\\"'#%$<>\r\t") != std::string::npos || line->contains('\0')) std::abort();
    const auto blanks = std::count(line->begin(), line->end(), ' ');
    if (static_cast<size_t>(blanks) + 1 != words.size()) std::abort();
  }
  state::Route route{.host = std::string(input.substr(0, size / 3)) + ".localhost",
                     .upstream = "unix@/" + std::string(input.substr(size / 3, size / 3)),
                     .instance = "i1",
                     .secret = "0123456789abcdef",
                     .owner = std::string(input.substr(size / 3 * 2))};
  if (gateway::CheckRoute(route, "localhost", {})) {
    const std::string value = "server|" + route.owner;
    if (!gateway::AdminLine({"add", "map", "hosts", route.host, value, route.upstream})) std::abort();
    if (route.owner.contains('|') || route.host.contains('|')) std::abort();
  }
  return 0;
}
