#include "state/entry.h"

namespace cubeplane::state {

std::string HostOf(const std::string& workload, const std::string& project, const std::string& domain) {
  return workload + "--" + project + "." + domain;
}

}  // namespace cubeplane::state
