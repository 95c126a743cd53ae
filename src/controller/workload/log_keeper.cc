#include "controller/workload/log_keeper.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "log/log.h"

namespace cubeplane::controller::workload {
namespace {

constexpr std::string_view kCutNotice = "\n(the rest of this log was not kept: it is longer than 64 MiB)\n";

// A file under its own name only once it is whole. Owned by one copy at a time; used on the pool.
class PartialFile {
 public:
  explicit PartialFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".part") {}
  ~PartialFile() {
    if (fd_ >= 0) close(fd_);
  }
  Result<void> Append(std::string_view text) {
    if (fd_ < 0) fd_ = open(temporary_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd_ < 0) return Trouble("opening");
    if (written_ >= kMaxKeptLog) return {};
    const bool cut = written_ + text.size() > kMaxKeptLog;
    if (cut) text = text.substr(0, kMaxKeptLog - written_);
    RETURN_IF_ERROR(Write(text));
    if (cut) return Write(kCutNotice);
    return {};
  }
  Result<void> Finish() {
    RETURN_IF_ERROR(Append(""));
    if (rename(temporary_.c_str(), path_.c_str()) != 0) return Trouble("renaming");
    return {};
  }

 private:
  Result<void> Write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = write(fd_, text.data(), text.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return Trouble("writing");
      text.remove_prefix(static_cast<size_t>(done));
      written_ += static_cast<size_t>(done);
    }
    return {};
  }
  Result<void> Trouble(const char* doing) const {
    const int error = errno;
    return Fail(error == ENOSPC || error == EDQUOT ? Code::kStoreFull : Code::kInternal,
                std::string(doing) + " " + temporary_ + ": " + std::strerror(error));
  }

  const std::string path_, temporary_;
  int fd_ = -1;
  size_t written_ = 0;
};

}  // namespace

LogKeeper::LogKeeper(kube::Client& client, std::string folder, async::Executor& executor,
                     async::BlockingPool& pool)
    : client_(client), folder_(std::move(folder)), executor_(executor), pool_(pool), group_(executor) {}

std::string LogKeeper::PathOf(const std::string& workload_uid, int32_t attempt) const {
  return folder_ + "/" + workload_uid + "-a" + std::to_string(attempt) + ".log";
}

async::Task<Result<void>> LogKeeper::Keep(std::string name_space, std::string pod, std::string path) {
  Result<void> kept = co_await Copy(std::move(name_space), std::move(pod), std::move(path), false);
  co_return kept;
}

void LogKeeper::Follow(std::string name_space, std::string pod, std::string path) {
  if (!following_.insert(path).second) return;
  group_.Spawn(FollowToEnd(std::move(name_space), std::move(pod), std::move(path)));
}

async::Task<void> LogKeeper::FollowToEnd(std::string name_space, std::string pod, std::string path) {
  const Result<void> kept = co_await Copy(name_space, pod, path, true);
  if (!kept)
    log::Warn("a log was not kept", {{"pod", name_space + "/" + pod}, {"error", kept.error().message}});
  following_.erase(path);
}

async::Task<Result<void>> LogKeeper::Copy(std::string name_space, std::string pod, std::string path,
                                          bool follow) {
  kube::LogOptions options;
  options.follow = follow;
  options.timestamps = true;
  Result<http::Response> response = co_await client_.PodLog(name_space, pod, options);
  CO_RETURN_IF_ERROR(response);
  auto file = std::make_shared<PartialFile>(path);
  if (!response->stream) {
    auto whole = std::make_shared<std::string>(std::move(response->body));
    Result<void> written = co_await pool_.Run([file, whole] { return file->Append(*whole); });
    CO_RETURN_IF_ERROR(written);
  }
  while (response->stream) {
    Result<std::string> piece = co_await response->stream->Read();
    CO_RETURN_IF_ERROR(piece);
    if (piece->empty()) break;
    auto text = std::make_shared<std::string>(std::move(*piece));
    Result<void> written = co_await pool_.Run([file, text] { return file->Append(*text); });
    CO_RETURN_IF_ERROR(written);
  }
  Result<void> finished = co_await pool_.Run([file] { return file->Finish(); });
  co_return finished;
}

void LogKeeper::SweepHourly(const Clock& clock, Duration retention) { group_.Spawn(Sweep(clock, retention)); }

async::Task<void> LogKeeper::Sweep(const Clock& clock, Duration retention) {
  const Time wall_start = clock.Now();
  const Mono mono_start = clock.MonoNow();
  for (;;) {
    const Time before = wall_start + (clock.MonoNow() - mono_start) - retention;
    const size_t removed =
        co_await pool_.Run([folder = folder_, before] { return RemoveOldLogs(folder, before); });
    if (removed > 0) {
      log::Info("logs whose time was over were removed", {{"files", std::to_string(removed)}});
    }
    const bool go_on = co_await async::Sleep(executor_, std::chrono::hours(1), group_.token());
    if (!go_on) co_return;
  }
}

async::Task<void> LogKeeper::Stop() {
  // A pod that is still in its grace is followed again after the next start; what is there until then is not
  // lost.
  following_.clear();
  group_.Stop();
  co_return;
}

size_t RemoveOldLogs(const std::string& folder, Time before) {
  size_t removed = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension();
    struct stat found{};
    if ((extension != ".log" && extension != ".part") || lstat(entry.path().c_str(), &found) != 0) continue;
    const Time written(std::chrono::seconds(found.st_mtim.tv_sec) +
                       std::chrono::nanoseconds(found.st_mtim.tv_nsec));
    if (S_ISREG(found.st_mode) && written < before && unlink(entry.path().c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace cubeplane::controller::workload
