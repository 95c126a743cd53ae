// Tenants of one node: their user ids and data folders.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/node/node.h"
#include "engine/node/sys.h"

namespace cubeplane::engine::node {

// Threading: one owner; with root, calls take the machine-wide registry's lock.
class Tenants {
 public:
  Tenants(const NodeOptions& options, Fd projects);
  // The tenant with its folder DATA/projects/<id> (0700), both made when absent. Without root there is one
  // user id: a second tenant is refused (kForbidden) unless the node was told to trust them all.
  Result<Tenant> Ensure(const std::string& id);

 private:
  Result<uid_t> UidOf(const std::string& id) const;
  const std::string data_, instance_, registry_;
  const bool trust_;
  Fd projects_;
};

}  // namespace cubeplane::engine::node
