#include "gateway/files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cubeplane::gateway {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Error> Failed(const std::string& doing, const std::string& path) {
  const int number = errno;
  const Code code = number == ENOSPC || number == EDQUOT || number == EROFS ? Code::kStoreFull
                    : number == ENOENT                                      ? Code::kNotFound
                                                                            : Code::kUnavailable;
  return Fail(code, doing + " " + path + ": " + strerror(number));
}

}  // namespace

Result<void> WriteDurably(const std::string& path, std::string_view content) {
  const std::string next = path + ".next";
  {
    Fd file(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return Failed("creating", next);
    while (!content.empty()) {
      const ssize_t wrote = write(file.get(), content.data(), content.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return Failed("writing", next);
      content.remove_prefix(static_cast<size_t>(wrote));
    }
    if (fsync(file.get()) != 0) return Failed("syncing", next);
  }
  if (rename(next.c_str(), path.c_str()) != 0) return Failed("renaming", next);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  Fd parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0 || fsync(parent.get()) != 0) return Failed("syncing", folder);
  return {};
}

Result<std::string> ReadWhole(const std::string& path, size_t max_bytes) {
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failed("opening", path);
  std::string content;
  char piece[16384];
  for (;;) {
    const ssize_t got = read(file.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("reading", path);
    if (got == 0) return content;
    content.append(piece, static_cast<size_t>(got));
    if (content.size() > max_bytes) return Fail(Code::kTooLarge, path + " is larger than it can be");
  }
}

Result<void> PrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Failed("making", path);
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Failed("looking at", path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return Fail(Code::kForbidden,
                path + " must be a folder of this user that nobody else may enter (mode 0700)");
  }
  return {};
}

}  // namespace cubeplane::gateway
