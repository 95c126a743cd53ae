#include "engine/node/stage.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

// <sys/mount.h> of glibc and <linux/mount.h> cannot stand together: the calls are made by number.

namespace cubeplane::engine::node {
namespace {

constexpr unsigned long kRecursive = 16384, kPrivate = 1ul << 18, kNoSuid = 2, kNoDev = 4;

long Mount(const char* source, const char* target, const char* type, unsigned long flags,
           const char* options) {
  return syscall(SYS_mount, source, target, type, flags, options);
}

// File-system rights of the tenant for a while; root's own again afterwards. Without root there is nothing to
// change.
class TenantRights {
 public:
  explicit TenantRights(uid_t uid) : active_(geteuid() == 0 && uid != 0) {
    if (!active_) return;
    setfsgid(uid);
    setfsuid(uid);
  }
  ~TenantRights() {
    if (!active_) return;
    setfsuid(0);
    setfsgid(0);
  }

 private:
  const bool active_;
};

Result<Fd> OpenSource(const std::string& path) {
  Fd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Fail(SysError("opening " + path));
  return fd;
}

Result<Fd> OpenFolder(const StagePlan::Folder& folder, uid_t uid) {
  ASSIGN_OR_RETURN(Fd base, OpenSource(folder.path));
  if (folder.below.empty()) return base;
  ASSIGN_OR_RETURN(const Fd readable, OpenDir("/proc/self/fd/" + std::to_string(base.get())));
  const TenantRights rights(folder.tenant ? uid : 0);
  auto made = MakeDirsBeneath(readable.get(), folder.below, 0755);
  if (!made && made.error().code == Code::kForbidden) {
    return Fail(Code::kInvalid, "the sub path " + folder.below +
                                    " leads through a link or a folder that is not the project's");
  }
  return made;
}

Result<Fd> CloneTree(const Fd& source) {
  const long fd = syscall(SYS_open_tree, source.get(), "",
                          AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (fd < 0) return Fail(SysError("cloning a mount"));
  return Fd(static_cast<int>(fd));
}

Result<void> Attach(const Fd& tree, const std::string& name) {
  const std::string target = std::string(kStage) + "/" + name;
  if (syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return Fail(SysError("mounting " + name));
  }
  return {};
}

Result<void> WriteText(const std::string& name, const std::string& text) {
  const std::string path = std::string(kStage) + "/" + name;
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return Fail(SysError("writing " + name));
  fchmod(fd.get(), 0644);
  return WriteAll(fd.get(), text);
}

}  // namespace

Result<void> BuildStage(const StagePlan& plan) {
  if (unshare(CLONE_NEWNS) != 0) return Fail(SysError("making the sandbox's mount namespace"));
  if (Mount(nullptr, "/", nullptr, kRecursive | kPrivate, nullptr) != 0)
    return Fail(SysError("making mounts private"));
  // All sources are cloned before the stage covers anything: they may themselves lie below it.
  std::vector<std::pair<std::string, Fd>> folders, files;
  for (const StagePlan::Folder& folder : plan.folders) {
    ASSIGN_OR_RETURN(const Fd source, OpenFolder(folder, plan.uid));
    ASSIGN_OR_RETURN(Fd tree, CloneTree(source));
    folders.emplace_back(folder.name, std::move(tree));
  }
  for (const auto& [name, path] : plan.files) {
    ASSIGN_OR_RETURN(const Fd source, OpenSource(path));
    ASSIGN_OR_RETURN(Fd tree, CloneTree(source));
    files.emplace_back(name, std::move(tree));
  }
  if (Mount("tmpfs", kStage, "tmpfs", kNoSuid | kNoDev, "size=256k,mode=755") != 0) {
    return Fail(SysError("making the stage"));
  }
  for (const auto& [name, tree] : folders) {
    if (mkdir((std::string(kStage) + "/" + name).c_str(), 0755) != 0)
      return Fail(SysError("making the stage"));
    RETURN_IF_ERROR(Attach(tree, name));
  }
  for (const auto& [name, text] : plan.texts) RETURN_IF_ERROR(WriteText(name, text));
  for (const auto& [name, tree] : files) {
    RETURN_IF_ERROR(WriteText(name, ""));
    RETURN_IF_ERROR(Attach(tree, name));
  }
  RETURN_IF_ERROR(WriteText(plan.termination_file, ""));
  const std::string termination = std::string(kStage) + "/" + plan.termination_file;
  if (geteuid() == 0 && plan.uid != 0 && chown(termination.c_str(), plan.uid, static_cast<gid_t>(-1)) != 0) {
    return Fail(SysError("preparing the termination file"));
  }
  return {};
}

}  // namespace cubeplane::engine::node
