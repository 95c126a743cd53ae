// The secrets of the doors: one per workload attempt, derived from a key of this installation, so that none
// is stored and none has to be read back from a cluster.
#pragma once

#include <string>

#include "model/objects.h"

namespace cubeplane::controller {

class DoorKey {
 public:
  // `key`: at least 32 random bytes, kept in DATA/keys.
  explicit DoorKey(std::string key) : key_(std::move(key)) {}
  // HMAC-SHA256 of the workload's UID, in hexadecimal. The same for all its attempts: a restart keeps its
  // route.
  std::string SecretOf(const std::string& workload_uid) const;

 private:
  std::string key_;
};

}  // namespace cubeplane::controller
