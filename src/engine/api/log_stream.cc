#include "engine/api/log_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "async/sync.h"

namespace cubeplane::engine {
namespace {

class File {
 public:
  File() = default;
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  bool ok() const { return fd_ >= 0; }
  // The next bytes; "" at the present end.
  std::string ReadSome() {
    std::string bytes(kLogPiece, '\0');
    const ssize_t size = fd_ < 0 ? 0 : read(fd_, bytes.data(), bytes.size());
    bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return bytes;
  }
  void Seek(int64_t offset) {
    if (fd_ >= 0) lseek(fd_, offset, SEEK_SET);
  }
  // True when `path` names another file by now: this one was rotated away.
  bool ReplacedAt(const std::string& path) const {
    struct stat mine{}, there{};
    if (fd_ < 0) return access(path.c_str(), F_OK) == 0;
    if (fstat(fd_, &mine) != 0 || stat(path.c_str(), &there) != 0) return false;
    return mine.st_ino != there.st_ino || mine.st_dev != there.st_dev;
  }

 private:
  int fd_ = -1;
};

class LogStream final : public http::BodyStream, public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(async::Executor& executor, std::string path, const LogOptions& options,
            std::function<bool()> ended)
      : executor_(executor), path_(std::move(path)), options_(options), ended_(std::move(ended)) {
    files_.emplace_back(path_ + ".1");
    files_.emplace_back(path_);
    if (!files_.front().ok()) files_.pop_front();
    if (options_.tail_lines) SeekToTail();
  }

  async::Task<Result<std::string>> Read() override {
    const auto self = shared_from_this();
    for (;;) {
      if (closed_) co_return Fail(Code::kCancelled, "the log was closed");
      // Asked before reading: what is written before the end is then read after it.
      const bool over = !options_.follow || ended_();
      std::string text = Next();
      if (!text.empty() || full_) co_return text;
      if (over && AtEnd()) co_return std::string();
      if (progress_) continue;
      async::OneShot<bool> wake(executor_);
      wake_ = wake;
      const async::TimerId timer =
          executor_.PostAt(executor_.clock().MonoNow() + kLogPoll, [wake] { wake.Set(true); });
      co_await wake.Wait();
      executor_.Cancel(timer);
    }
  }

  void Close() override {
    closed_ = true;
    if (wake_) wake_->Set(true);
  }

 private:
  bool AtEnd() const { return files_.size() <= 1 && !progress_; }

  std::string Next() {
    progress_ = false;
    std::string bytes = files_.empty() ? "" : files_.front().ReadSome();
    if (bytes.empty()) {
      if (files_.size() > 1) {
        files_.pop_front();
        progress_ = true;
      } else if (files_.empty() || files_.front().ReplacedAt(path_)) {
        files_.clear();
        files_.emplace_back(path_);
        progress_ = files_.front().ok();
      }
      return "";
    }
    progress_ = true;
    pending_ += bytes;
    std::string text;
    size_t start = 0;
    for (size_t end = 0; (end = pending_.find('\n', start)) != std::string::npos; start = end + 1) {
      AppendLine(std::string_view(pending_).substr(start, end - start), text);
    }
    pending_.erase(0, start);
    return Limit(std::move(text));
  }

  // `2026-03-04T06:02:07.123456789Z stdout F text`
  void AppendLine(std::string_view line, std::string& text) const {
    const size_t stream = line.find(' ');
    const size_t tag = stream == std::string_view::npos ? stream : line.find(' ', stream + 1);
    if (tag == std::string_view::npos) return;
    const size_t body = line.find(' ', tag + 1);
    const std::string_view stamp = line.substr(0, stream);
    if (options_.since) {
      const auto time = ParseTime(stamp);
      if (!time || *time < *options_.since) return;
    }
    if (options_.timestamps) text += std::string(stamp) + " ";
    if (body != std::string_view::npos) text += line.substr(body + 1);
    const bool partial = line.size() > tag + 1 && line[tag + 1] == 'P';
    if (!partial) text += '\n';
  }

  std::string Limit(std::string text) {
    if (!options_.limit_bytes) return text;
    const auto left = static_cast<size_t>(std::max<int64_t>(0, *options_.limit_bytes - given_));
    text.resize(std::min(text.size(), left));
    given_ += static_cast<int64_t>(text.size());
    full_ = text.empty() && left == 0;
    return text;
  }

  // Leaves the files at the start of the last `tail_lines` lines.
  void SeekToTail() {
    const auto wanted = static_cast<size_t>(std::min(*options_.tail_lines, kMaxTailLines));
    std::deque<std::pair<size_t, int64_t>> starts;  // file, offset
    for (size_t i = 0; i < files_.size(); ++i) {
      int64_t offset = 0;
      bool at_start = true;
      for (std::string bytes = files_[i].ReadSome(); !bytes.empty(); bytes = files_[i].ReadSome()) {
        for (const char c : bytes) {
          if (at_start) starts.emplace_back(i, offset);
          if (starts.size() > wanted) starts.pop_front();
          at_start = c == '\n';
          ++offset;
        }
      }
    }
    // No line wanted, or none there: both files are at their end, from where following goes on.
    if (starts.empty()) return;
    for (size_t i = 0; i < starts.front().first; ++i) files_.pop_front();
    files_.front().Seek(starts.front().second);
    if (files_.size() > 1) files_.back().Seek(0);
  }

  async::Executor& executor_;
  const std::string path_;
  const LogOptions options_;
  const std::function<bool()> ended_;
  std::deque<File> files_;  // yet to be read, the oldest first; the last is the live one
  std::string pending_;     // an unfinished line
  std::optional<async::OneShot<bool>> wake_;
  int64_t given_ = 0;
  bool progress_ = false;  // the last step moved on: there may be more right away
  bool full_ = false;      // limit_bytes are given
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<http::BodyStream> MakeLog(async::Executor& executor, std::string path,
                                          const LogOptions& options, std::function<bool()> ended) {
  return std::make_shared<LogStream>(executor, std::move(path), options, std::move(ended));
}

}  // namespace cubeplane::engine
