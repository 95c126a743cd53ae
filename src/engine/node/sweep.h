// Ends an instance's pods from outside: for `down`, and for `./run --once`.
#pragma once

#include <string>

#include "base/result.h"

namespace cubeplane::engine::node {

// Ends the node process of DATA if there is one, kills every pod, and removes processes, control groups,
// sockets and run folders of the instance. Pod folders (logs, records) stay. Needs the rights of the node
// that made them; fine when nothing is there. Mounts live in the pods' own namespaces and go with them.
Result<void> SweepInstance(const std::string& data);

}  // namespace cubeplane::engine::node
