// Everything that a sandbox binds, gathered at one place in a mount namespace of the sandbox's own.
//
// Why: bwrap opens its sources by path and as the tenant. Here they are opened by descriptor (no link is
// followed, nothing can be swapped between check and use), as root where there is one, so folders above them
// need not be open to tenants.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

inline constexpr const char* kStage = "/mnt";  // covered in that namespace only

struct StagePlan {
  struct Folder {
    std::string name;     // below kStage
    std::string path;     // absolute; its last part may not be a link
    std::string below;    // a path under it, made when absent, opened without links (a tenant's sub path)
    bool tenant = false;  // `below` is opened and made with the tenant's rights
  };
  uid_t uid = 0;
  std::vector<Folder> folders;
  std::vector<std::pair<std::string, std::string>> files;  // name → a path of a file to bind
  std::vector<std::pair<std::string, std::string>> texts;  // name → content of a small file
  std::string termination_file;                            // name of the file that the payload may write
};

// In a child that is about to become the sandbox: makes the mount namespace and the stage. Errors: kInvalid
// for sub paths that lead through links; else what the kernel said.
Result<void> BuildStage(const StagePlan& plan);

}  // namespace cubeplane::engine::node
