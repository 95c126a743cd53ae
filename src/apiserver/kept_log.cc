#include "apiserver/kept_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace cubeplane::apiserver {
namespace {

constexpr size_t kPiece = 64u << 10;

// What the pool works on. One call at a time.
class KeptFile {
 public:
  KeptFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}
  ~KeptFile() {
    if (fd_ >= 0) close(fd_);
  }

  // Opens, and goes to where the last `tail` lines begin.
  Result<void> Open(std::optional<int64_t> tail) {
    if (path_.empty()) {
      if (tail) at_ = TailOf(text_, *tail);
      return {};
    }
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd_ < 0 && errno == ENOENT) return Fail(Code::kNotFound, "the kept log is gone");
    if (fd_ < 0) return Fail(Code::kInternal, "opening " + path_ + ": " + std::strerror(errno));
    if (tail) return SeekToTail(*tail);
    return {};
  }

  Result<std::string> Next() {
    if (path_.empty()) {
      std::string piece = text_.substr(at_, kPiece);
      at_ += piece.size();
      return piece;
    }
    std::string piece(kPiece, '\0');
    const ssize_t got = pread(fd_, piece.data(), piece.size(), static_cast<off_t>(at_));
    if (got < 0) return Fail(Code::kInternal, "reading " + path_ + ": " + std::strerror(errno));
    piece.resize(static_cast<size_t>(got));
    at_ += piece.size();
    return piece;
  }

 private:
  static size_t TailOf(std::string_view text, int64_t lines) {
    size_t at = text.size();
    if (at > 0 && text[at - 1] == '\n') --at;
    for (; at > 0; --at) {
      if (text[at - 1] == '\n' && --lines == 0) return at;
    }
    return lines <= 0 ? text.size() : 0;
  }

  // Backwards, piece by piece, until enough line ends were met.
  Result<void> SeekToTail(int64_t lines) {
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size < 0) return Fail(Code::kInternal, "reading " + path_ + ": " + std::strerror(errno));
    at_ = static_cast<size_t>(size);
    if (lines == 0) return {};
    std::string piece;
    for (size_t end = at_; end > 0;) {
      const size_t begin = end > kPiece ? end - kPiece : 0;
      piece.resize(end - begin);
      const ssize_t got = pread(fd_, piece.data(), piece.size(), static_cast<off_t>(begin));
      if (got != static_cast<ssize_t>(piece.size()))
        return Fail(Code::kInternal, "reading " + path_ + ": cut short");
      for (size_t i = piece.size(); i > 0; --i) {
        // The line end at the very end of the file ends the last line, it begins none.
        if (piece[i - 1] != '\n' || begin + i == at_) continue;
        if (--lines > 0) continue;
        at_ = begin + i;
        return {};
      }
      end = begin;
    }
    at_ = 0;
    return {};
  }

  const std::string path_, text_;
  int fd_ = -1;
  size_t at_ = 0;
};

class KeptBody final : public http::BodyStream {
 public:
  KeptBody(async::BlockingPool& pool, std::shared_ptr<KeptFile> file, bool timestamps)
      : pool_(pool), file_(std::move(file)), timestamps_(timestamps) {}

  async::Task<Result<std::string>> Read() override {
    while (!closed_) {
      auto next = [file = file_] { return file->Next(); };
      Result<std::string> piece = co_await pool_.Run(std::move(next));
      if (!piece || piece->empty() || timestamps_) co_return piece;
      std::string text = stripper_.Strip(*piece);
      // A piece that was nothing but a time is not the end.
      if (!text.empty()) co_return text;
    }
    co_return std::string();
  }
  void Close() override { closed_ = true; }

 private:
  async::BlockingPool& pool_;
  const std::shared_ptr<KeptFile> file_;
  const bool timestamps_;
  TimeStripper stripper_;
  bool closed_ = false;
};

}  // namespace

std::string TimeStripper::Strip(std::string_view piece) {
  std::string text;
  text.reserve(piece.size());
  for (const char c : piece) {
    if (in_time_ && c != '\n') {
      in_time_ = c != ' ';
      continue;
    }
    text.push_back(c);
    in_time_ = c == '\n';
  }
  return text;
}

async::Task<Result<std::shared_ptr<http::BodyStream>>> OpenKeptLog(async::BlockingPool& pool,
                                                                   storage::KeptLog log, LogOptions options) {
  auto file = std::make_shared<KeptFile>(log.path, std::move(log.text));
  auto open = [file, tail = options.tail] { return file->Open(tail); };
  Result<void> opened = co_await pool.Run(std::move(open));
  CO_RETURN_IF_ERROR(opened);
  co_return std::make_shared<KeptBody>(pool, std::move(file), options.timestamps);
}

}  // namespace cubeplane::apiserver
