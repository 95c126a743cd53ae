// What a pod sees: the plan of its stage and the arguments of bwrap.
//
// Planning looks at the machine (which images and folders are there) but changes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/node/config.h"
#include "engine/node/stage.h"

namespace cubeplane::engine::node {

// The image, resolved: an environment on top of the machine's own /usr, or a root folder of its own.
struct Image {
  std::string environment;  // folder for /opt/env
  std::string root;         // or: a whole root file system
};
// kInvalid when there is no such image here, with the images that there are.
Result<Image> ResolveImage(const NodeConfig& node, const std::string& image);

struct SandboxPlan {
  StagePlan stage;
  std::vector<std::string>
      options;  // of bwrap; they hold the environment, so they do not go on its command line
  std::vector<std::string> command;  // pod init, then the payload
};
// `seccomp_fd` and `control_fd` are inherited by bwrap; the second also by pod init.
Result<SandboxPlan> PlanSandbox(const PodFile& pod, int seccomp_fd, int control_fd);

// Folder below DATA/pods/<uid> into which code mount number `index` is unpacked.
std::string CodeFolder(size_t index);

}  // namespace cubeplane::engine::node
