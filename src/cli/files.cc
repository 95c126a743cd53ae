#include "cli/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cubeplane::cli {
namespace {

// Closes the descriptor at the end of its life.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ > STDERR_FILENO) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error LastError(const std::string& path) {
  const int error = errno;
  const Code code = error == ENOENT ? Code::kNotFound : error == EACCES ? Code::kForbidden : Code::kInvalid;
  return Error(code, path + ": " + std::strerror(error));
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const Fd file(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Fail(LastError(path));
  std::string content;
  char piece[64 << 10];
  for (;;) {
    const ssize_t got = read(file.get(), piece, sizeof piece);
    if (got < 0) return Fail(LastError(path));
    if (got == 0) return content;
    content.append(piece, static_cast<size_t>(got));
    if (content.size() > max_bytes)
      return Fail(Code::kTooLarge, path + ": more than " + std::to_string(max_bytes) + " bytes");
  }
}

Result<> WriteSecretFile(const std::string& path, const std::string& content) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) chmod(folder.c_str(), 0700);
  const std::string part = path + ".part";
  unlink(part.c_str());
  const Fd file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return Fail(LastError(part));
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t put = write(file.get(), content.data() + done, content.size() - done);
    if (put < 0) return Fail(LastError(part));
    done += static_cast<size_t>(put);
  }
  if (fsync(file.get()) != 0 || rename(part.c_str(), path.c_str()) != 0) return Fail(LastError(path));
  return {};
}

}  // namespace cubeplane::cli
