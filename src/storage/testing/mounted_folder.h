// A small file system of its own for one test (root is needed), unmounted with it.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "storage/testing/temp_folder.h"

namespace cubeplane::storage::testing {

class MountedFolder {
 public:
  // A tmpfs with these options ("size=1m").
  explicit MountedFolder(const std::string& options) {
    if (mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options.c_str()) != 0)
      problem_ = std::string("mounting a tmpfs (root is needed): ") + std::strerror(errno);
  }
  ~MountedFolder() {
    if (problem_.empty()) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  // "" when it is mounted.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
  std::string problem_;
};

}  // namespace cubeplane::storage::testing
