// The Node object that stands for this machine.
#pragma once

#include "engine/cluster.h"
#include "engine/engine.h"

namespace cubeplane::engine {

// Makes or refreshes it. Labels, taints and annotations that are there stay as they are: they belong to the
// operator.
Result<void> EnsureNode(const Cluster& cluster, const NodeShape& shape);

}  // namespace cubeplane::engine
