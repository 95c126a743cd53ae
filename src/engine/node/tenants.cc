#include "engine/node/tenants.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/node/spec.h"
#include "engine/node/uids.h"

namespace cubeplane::engine::node {

Tenants::Tenants(const NodeOptions& options, Fd projects)
    : data_(options.config.data),
      instance_(options.config.instance),
      registry_(options.uids),
      trust_(options.trust_tenants),
      projects_(std::move(projects)) {}

Result<uid_t> Tenants::UidOf(const std::string& id) const {
  if (geteuid() == 0) return TenantUid(registry_, instance_, id);
  for (const std::string& other : ListDir(projects_.get())) {
    if (other != id && !trust_) {
      return Fail(Code::kForbidden,
                  "without root all projects share one user id, so there may be only one (here: " + other +
                      "): run the node as root, or accept that projects can read each other's files "
                      "with --trust-tenants");
    }
  }
  return geteuid();
}

Result<Tenant> Tenants::Ensure(const std::string& id) {
  if (!IsSafeName(id)) {
    return Fail(Code::kInvalid, "tenant id '" + id.substr(0, 100) +
                                    "': 1 to 64 letters, digits, '-', '_' and '.' are allowed");
  }
  ASSIGN_OR_RETURN(const uid_t uid, UidOf(id));
  if (mkdirat(projects_.get(), id.c_str(), 0700) != 0 && errno != EEXIST)
    return Fail(SysError("making the data folder"));
  ASSIGN_OR_RETURN(const Fd folder, OpenBeneath(projects_.get(), id, O_RDONLY | O_DIRECTORY));
  struct stat info{};
  if (fstat(folder.get(), &info) != 0) return Fail(SysError("looking at the data folder"));
  if (info.st_uid != uid) {
    // A folder that this node has just made is still its own; another's is never taken over.
    if (info.st_uid != geteuid()) {
      return Fail(Code::kForbidden, "the data folder of " + id + " belongs to user id " +
                                        std::to_string(info.st_uid) + ", not to this tenant's " +
                                        std::to_string(uid));
    }
    if (fchown(folder.get(), uid, uid) != 0 || fchmod(folder.get(), 0700) != 0) {
      return Fail(SysError("handing over the data folder"));
    }
  }
  return Tenant{id, uid, data_ + "/projects/" + id};
}

}  // namespace cubeplane::engine::node
