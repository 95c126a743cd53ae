#include "engine/node/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cubeplane::engine::node {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Error SysError(std::string_view doing) {
  const int number = errno;
  Code code = Code::kUnavailable;
  if (number == ENOSPC || number == EROFS || number == EDQUOT) code = Code::kStoreFull;
  if (number == ENOENT) code = Code::kNotFound;
  if (number == EACCES || number == EPERM || number == ELOOP || number == EXDEV) code = Code::kForbidden;
  return Error(code, std::string(doing) + ": " + strerror(number));
}

Result<Fd> OpenBeneath(int dir, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & (O_CREAT | O_TMPFILE)) ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, dir, path.empty() ? "." : path.c_str(), &how, sizeof how);
  if (fd < 0) return Fail(SysError("opening " + path));
  return Fd(static_cast<int>(fd));
}

Result<Fd> MakeDirsBeneath(int dir, const std::string& path, mode_t mode) {
  ASSIGN_OR_RETURN(Fd here, OpenBeneath(dir, ".", O_RDONLY | O_DIRECTORY));
  size_t begin = 0;
  while (begin < path.size()) {
    size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return Fail(Code::kInvalid, "the path " + path + " may not hold '..'");
    if (mkdirat(here.get(), part.c_str(), mode) != 0 && errno != EEXIST) {
      return Fail(SysError("making folder " + path));
    }
    ASSIGN_OR_RETURN(here, OpenBeneath(here.get(), part, O_RDONLY | O_DIRECTORY));
  }
  return here;
}

Result<Fd> OpenDir(const std::string& absolute) {
  Fd fd(open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Fail(SysError("opening folder " + absolute));
  return fd;
}

Result<std::string> ReadFileAt(int dir, const std::string& name, size_t max_bytes) {
  ASSIGN_OR_RETURN(Fd fd, OpenBeneath(dir, name, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return Fail(SysError("reading " + name));
  if (!S_ISREG(info.st_mode)) return Fail(Code::kInvalid, name + " is not a regular file");
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(SysError("reading " + name));
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return Fail(Code::kTooLarge, name + " is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Result<void> WriteFileAt(int dir, const std::string& name, std::string_view text, mode_t mode, bool sync) {
  const std::string temporary = name + ".new";
  unlinkat(dir, temporary.c_str(), 0);
  ASSIGN_OR_RETURN(Fd fd, OpenBeneath(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, mode));
  RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (fchmod(fd.get(), mode) != 0) return Fail(SysError("setting the mode of " + name));
  if (sync && fdatasync(fd.get()) != 0) return Fail(SysError("syncing " + name));
  if (renameat(dir, temporary.c_str(), dir, name.c_str()) != 0) return Fail(SysError("replacing " + name));
  if (sync && fsync(dir) != 0) return Fail(SysError("syncing the folder of " + name));
  return {};
}

Result<void> WriteKernelFile(const std::string& path, std::string_view text) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return Fail(SysError("opening " + path));
  if (write(fd.get(), text.data(), text.size()) < 0) return Fail(SysError("writing " + path));
  return {};
}

std::string ReadKernelFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (fd && text.size() < (64u << 10)) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::vector<std::string> ListDir(int dir) {
  std::vector<std::string> names;
  const int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (!stream) {
    if (copy >= 0) close(copy);
    return names;
  }
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> RemoveTree(int dir, const std::string& name) {
  if (unlinkat(dir, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return Fail(SysError("removing " + name));
  {
    ASSIGN_OR_RETURN(Fd folder, OpenBeneath(dir, name, O_RDONLY | O_DIRECTORY));
    for (const std::string& entry : ListDir(folder.get())) RETURN_IF_ERROR(RemoveTree(folder.get(), entry));
  }
  if (unlinkat(dir, name.c_str(), AT_REMOVEDIR) != 0) return Fail(SysError("removing folder " + name));
  return {};
}

Result<void> WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Fail(SysError("writing"));
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return {};
}

Result<Fd> MemoryFile(std::string_view text) {
  Fd fd(memfd_create("cubeplane", 0));
  if (!fd) return Fail(SysError("making a memory file"));
  RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return Fail(SysError("rewinding a memory file"));
  return fd;
}

std::string BootId() {
  std::string id = ReadKernelFile("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

uint64_t ProcessStart(pid_t pid) {
  const std::string stat = ReadKernelFile("/proc/" + std::to_string(pid) + "/stat");
  // The command name may hold blanks and brackets: fields count from behind its last bracket. Start time is
  // field 22.
  size_t at = stat.rfind(')');
  if (at == std::string::npos) return 0;
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at + 1);
    if (at == std::string::npos) return 0;
  }
  return strtoull(stat.c_str() + at + 1, nullptr, 10);
}

Fd PidfdOpen(pid_t pid) { return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

bool PidfdSignal(const Fd& pidfd, int signal) {
  return pidfd && syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

bool TryLock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

namespace {
Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(Code::kInvalid,
                "the socket path " + path + " is longer than 107 bytes: use a shorter run folder");
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}
}  // namespace

Result<Fd> ListenUnix(const std::string& path, int type, uid_t owner) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  Fd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Fail(SysError("making a socket"));
  unlink(path.c_str());
  // Nobody can connect between bind and chown: fchmod before bind sets the mode of the file that bind makes.
  if (fchmod(fd.get(), 0600) != 0) return Fail(SysError("preparing socket " + path));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Fail(SysError("making socket " + path));
  }
  if (chmod(path.c_str(), 0600) != 0) return Fail(SysError("setting the mode of " + path));
  if (owner != geteuid() && chown(path.c_str(), owner, static_cast<gid_t>(-1)) != 0) {
    return Fail(SysError("handing over socket " + path));
  }
  if (listen(fd.get(), 128) != 0) return Fail(SysError("listening at " + path));
  return fd;
}

Result<Fd> ConnectUnix(const std::string& path, int type) {
  ASSIGN_OR_RETURN(const sockaddr_un address, UnixAddress(path));
  Fd fd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!fd) return Fail(SysError("making a socket"));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Fail(SysError("connecting to " + path));
  }
  return fd;
}

}  // namespace cubeplane::engine::node
