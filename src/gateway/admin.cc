#include "gateway/admin.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "gateway/lines.h"

namespace cubeplane::gateway {
namespace {

// Calls `use` for each line.
template <class Use>
void EachLine(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

class Connection {
 public:
  Connection() : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }

  Result<void> Open(const std::string& path, Duration timeout) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (fd_ < 0 || path.size() >= sizeof address.sun_path) {
      return Fail(Code::kUnavailable, "HAProxy's admin socket cannot be opened");
    }
    memcpy(address.sun_path, path.data(), path.size());
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
    const timeval limit{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      return Fail(Code::kUnavailable,
                  std::string("HAProxy's admin socket does not answer: ") + strerror(errno));
    }
    return {};
  }

  Result<void> Send(std::string_view line) {
    while (!line.empty()) {
      const ssize_t sent = send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return Failed();
      line.remove_prefix(static_cast<size_t>(sent));
    }
    return {};
  }

  // To the end of the connection: HAProxy closes after the answer.
  Result<std::string> ReadAll() {
    std::string answer;
    char piece[16384];
    for (;;) {
      const ssize_t got = recv(fd_, piece, sizeof piece, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Fail(Failed().error());
      if (got == 0) return answer;
      answer.append(piece, static_cast<size_t>(got));
      if (answer.size() > kMaxAnswer) return Fail(Code::kTooLarge, "HAProxy's answer is larger than 16 MiB");
    }
  }

 private:
  static std::unexpected<Error> Failed() {
    const bool late = errno == EAGAIN || errno == EWOULDBLOCK;
    return Fail(late ? Code::kTimeout : Code::kUnavailable,
                std::string("HAProxy's admin socket: ") + (late ? "no answer in time" : strerror(errno)));
  }

  int fd_;
};

}  // namespace

Result<std::string> AdminSocket::Ask(const std::vector<std::string_view>& words) const {
  ASSIGN_OR_RETURN(const std::string line, AdminLine(words));
  Connection connection;
  RETURN_IF_ERROR(connection.Open(path_, timeout_));
  RETURN_IF_ERROR(connection.Send(line));
  ASSIGN_OR_RETURN(std::string answer, connection.ReadAll());
  while (answer.ends_with('\n')) answer.pop_back();
  return answer;
}

Result<void> AdminSocket::Tell(const std::vector<std::string_view>& words, std::string_view expected) const {
  ASSIGN_OR_RETURN(const std::string answer, Ask(words));
  if (answer.empty() || (!expected.empty() && answer == expected)) return {};
  // The words may hold a secret; the answer does not repeat them.
  return Fail(Code::kConflict, "HAProxy refused `" + std::string(words[0]) + "`: " + answer.substr(0, 200));
}

Result<std::vector<MapEntry>> AdminSocket::Map(std::string_view map) const {
  ASSIGN_OR_RETURN(const std::string answer, Ask({"show", "map", map}));
  std::vector<MapEntry> entries;
  bool good = true;
  EachLine(answer, [&](std::string_view line) {
    const auto words = Words(line);  // "<address> <key> <value>"
    if (words.size() == 3 && words[0].starts_with("0x")) {
      entries.push_back({std::string(words[1]), std::string(words[2])});
    } else if (!words.empty()) {
      good = false;
    }
  });
  if (!good) return Fail(Code::kInternal, "HAProxy's list of a map cannot be read");
  return entries;
}

Result<std::vector<std::string>> AdminSocket::Servers(std::string_view backend) const {
  ASSIGN_OR_RETURN(const std::string answer, Ask({"show", "servers", "state", backend}));
  if (!answer.starts_with("1\n#")) return Fail(Code::kInternal, "HAProxy's list of servers cannot be read");
  std::vector<std::string> names;
  EachLine(answer, [&](std::string_view line) {
    const auto words = Words(line);  // be_id be_name srv_id srv_name …
    if (words.size() > 5 && words[0] != "#") names.emplace_back(words[3]);
  });
  return names;
}

Result<AdminSocket::Info> AdminSocket::ShowInfo() const {
  ASSIGN_OR_RETURN(const std::string answer, Ask({"show", "info"}));
  Info info;
  EachLine(answer, [&](std::string_view line) {
    if (line.starts_with("Pid: ")) std::from_chars(line.data() + 5, line.data() + line.size(), info.pid);
    if (line.starts_with("description: ")) info.description = line.substr(13);
    if (line == "Stopping: 1") info.stopping = true;
  });
  if (info.pid <= 0) return Fail(Code::kInternal, "HAProxy's `show info` cannot be read");
  return info;
}

}  // namespace cubeplane::gateway
