#include "engine/node/uids.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "engine/node/sys.h"

namespace cubeplane::engine::node {
namespace {

constexpr size_t kMaxRegistryBytes = 64u << 20;  // about half a million tenants

Result<Fd> OpenRegistry(const std::string& folder) {
  for (size_t at = folder.find('/', 1); at != std::string::npos; at = folder.find('/', at + 1)) {
    mkdir(folder.substr(0, at).c_str(), 0755);
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Fail(SysError("making the uid registry " + folder));
  ASSIGN_OR_RETURN(Fd dir, OpenDir(folder));
  struct stat info{};
  if (fstat(dir.get(), &info) != 0 || info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return Fail(Code::kForbidden,
                "the uid registry " + folder + " must belong to this user and be writable by no other");
  }
  return dir;
}

}  // namespace

Result<uid_t> TenantUid(const std::string& folder, const std::string& instance, const std::string& tenant) {
  ASSIGN_OR_RETURN(const Fd dir, OpenRegistry(folder));
  ASSIGN_OR_RETURN(const Fd file, OpenBeneath(dir.get(), "uids", O_RDWR | O_CREAT | O_APPEND, 0600));
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return Fail(SysError("locking the uid registry"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(dir.get(), "uids", kMaxRegistryBytes));
  uid_t next = kFirstUid;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    uid_t uid = 0;
    std::string owner, name;
    words >> uid >> owner >> name;
    // A torn last line (power lost while appending) still uses up its number when that can be read.
    if (uid < kFirstUid || uid > kLastUid) continue;
    if (uid >= next) next = uid + 1;
    if (owner == instance && name == tenant) return uid;
  }
  if (next > kLastUid)
    return Fail(Code::kUnavailable, "all user ids of the registry " + folder + " are used up");
  const std::string separator = text.empty() || text.back() == '\n' ? "" : "\n";
  const std::string entry = separator + std::to_string(next) + " " + instance + " " + tenant + "\n";
  if (auto written = WriteAll(file.get(), entry); !written)
    return Fail(written.error().Wrap("the uid registry"));
  if (fdatasync(file.get()) != 0) return Fail(SysError("syncing the uid registry"));
  return next;
}

}  // namespace cubeplane::engine::node
