#include "storage/sqlite/guard.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cubeplane::storage::sqlite {
namespace {

// From linux/magic.h and the drivers' own sources.
constexpr std::pair<unsigned, std::string_view> kRemote[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},       {0xFF534D42, "CIFS"},    {0xFE534D42, "SMB2"},
    {0x65735546, "FUSE"},   {0x01021997, "9p"},    {0x5346414F, "AFS"},     {0x6B414653, "AFS"},
    {0x73757245, "Coda"},   {0x564C, "NCP"},       {0x00C36400, "Ceph"},    {0x0BD00BD0, "Lustre"},
    {0x01161970, "GFS2"},   {0x7461636F, "OCFS2"}, {0x47504653, "GPFS"},    {0x19830326, "BeeGFS"},
    {0x786F4256, "vboxsf"}, {0xAAD7AAEA, "PanFS"}, {0x20030528, "OrangeFS"}};

std::string Reason() { return std::strerror(errno); }

}  // namespace

std::string_view NetworkFileSystem(long magic) {
  for (const auto& [number, name] : kRemote) {
    if (number == static_cast<unsigned>(magic)) return name;
  }
  return {};
}

Result<void> CheckFileSystem(const std::string& folder) {
  struct statfs info{};
  if (statfs(folder.c_str(), &info) != 0)
    return Fail(errno == ENOENT ? Code::kNotFound : Code::kUnavailable,
                "the folder " + folder + ": " + Reason());
  const std::string_view name = NetworkFileSystem(info.f_type);
  if (name.empty()) return {};
  return Fail(Code::kInvalid,
              "the folder " + folder + " lies on a " + std::string(name) +
                  " file system, which does not keep the database's locks; use a folder on a local disk");
}

Result<void> SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Fail(Code::kUnavailable, "the folder " + folder + ": " + Reason());
  const bool synced = fsync(fd) == 0;
  const std::string reason = Reason();
  close(fd);
  if (!synced) return Fail(Code::kUnavailable, "syncing the folder " + folder + ": " + reason);
  return {};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<FileLock> FileLock::Take(const std::string& database) {
  const std::string path = database + ".lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(Code::kUnavailable, "making " + path + ": " + Reason());
  FileLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t size = pread(fd, holder, sizeof holder - 1, 0);
    const std::string pid = size > 0 ? std::string(holder, static_cast<size_t>(size)) : "unknown";
    return Fail(Code::kUnavailable, database + " is in use by another cubeplane (process " + pid + ")");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return Fail(Code::kUnavailable, "writing " + path + ": " + Reason());
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace cubeplane::storage::sqlite
