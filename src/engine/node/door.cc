#include "engine/node/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/node/door_request.h"

namespace cubeplane::engine::node {
namespace {

constexpr size_t kBufferBytes = 64u << 10;
constexpr Duration kHeadTimeout = std::chrono::seconds(10);
constexpr int kControlReplyMs = 500;

std::string Answer(Code code, std::string_view message) {
  const int status = code == Code::kForbidden ? 403 : code == Code::kBadRequest ? 400 : 503;
  const char* words = status == 403 ? "Forbidden" : status == 400 ? "Bad Request" : "Service Unavailable";
  const std::string body = std::string(message) + "\n";
  return "HTTP/1.1 " + std::to_string(status) + " " + words +
         "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

// One client and, after its head was checked, one connection to the payload.
class Passage {
 public:
  Passage(Fd client, Mono head_deadline) : client_(std::move(client)), head_deadline_(head_deadline) {}

  short ClientEvents() const {
    short events = 0;
    if (WantsClientBytes()) events |= POLLIN;
    if (!to_client_.empty()) events |= POLLOUT;
    return events;
  }
  short ServerEvents() const {
    short events = 0;
    if (connecting_ || !to_server_.empty()) events |= POLLOUT;
    if (!connecting_ && !server_ended_ && to_client_.size() < kBufferBytes) events |= POLLIN;
    return events;
  }
  int client() const { return client_.get(); }
  int server() const { return server_.get(); }
  bool over() const { return over_; }
  bool HeadIsLate(Mono now) const { return !server_ && !refused_ && now >= head_deadline_; }
  void End() { over_ = true; }

  void OnClient(short events, const DoorPlan& plan) {
    if (events & (POLLHUP | POLLERR)) return End();
    if (events & POLLOUT) Flush(client_, to_client_);
    if (events & POLLIN) ReadClient(plan);
    Settle();
  }
  void OnServer(short events) {
    if (connecting_ && (events & (POLLOUT | POLLERR | POLLHUP))) FinishConnect();
    if (over_ || refused_) return Settle();
    if (events & POLLOUT) Flush(server_, to_server_);
    if (events & (POLLIN | POLLHUP | POLLERR)) ReadServer();
    Settle();
  }

 private:
  bool WantsClientBytes() const {
    if (refused_ || client_ended_) return false;
    if (!meter_) return true;
    return !meter_->done() && to_server_.size() < kBufferBytes;
  }

  void ReadClient(const DoorPlan& plan) {
    char buffer[16384];
    const ssize_t got = recv(client_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      client_ended_ = true;
      if (!meter_) return End();
      return;
    }
    const std::string_view bytes(buffer, static_cast<size_t>(got));
    if (meter_) {
      to_server_.append(bytes.substr(0, meter_->Take(bytes)));
      return;
    }
    head_.append(bytes);
    const size_t end = head_.find("\r\n\r\n");
    if (end != std::string::npos) return Begin(plan, end + 4);
    if (head_.size() > kMaxHeadBytes) Refuse(Code::kBadRequest, "the request's head is larger than 64 KiB");
  }

  void Begin(const DoorPlan& plan, size_t head_bytes) {
    auto head = CheckHead(std::string_view(head_).substr(0, head_bytes), plan.secret);
    if (!head) return Refuse(head.error().code, head.error().message);
    meter_ = std::make_unique<BodyMeter>(*head);
    to_server_ = std::move(head->forward);
    const std::string_view rest = std::string_view(head_).substr(head_bytes);
    to_server_.append(rest.substr(0, meter_->Take(rest)));
    head_.clear();
    tunnel_ = head->body == BodyKind::kTunnel;
    server_ = Fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(server_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(plan.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connecting_ = true;
    if (connect(server_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS) {
      NotListening();
    }
  }

  void FinishConnect() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(server_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    connecting_ = false;
    if (error != 0) NotListening();
  }

  void NotListening() { Refuse(Code::kUnavailable, "the workload does not listen on its port yet"); }

  void Refuse(Code code, std::string_view message) {
    refused_ = true;
    connecting_ = false;
    to_client_ = Answer(code, message);
  }

  void ReadServer() {
    char buffer[16384];
    if (to_client_.size() >= kBufferBytes) return;
    const ssize_t got = recv(server_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      server_ended_ = true;
      return;
    }
    to_client_.append(buffer, static_cast<size_t>(got));
    Flush(client_, to_client_);
  }

  void Flush(const Fd& fd, std::string& bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) return Broken(fd);
      bytes.erase(0, static_cast<size_t>(sent));
    }
  }

  // A payload may answer and close before it has read the whole body: its answer still counts.
  void Broken(const Fd& fd) {
    if (&fd == &client_) return End();
    to_server_.clear();
    client_ended_ = true;
  }

  void Settle() {
    if ((server_ended_ || refused_) && to_client_.empty()) return End();
    if (tunnel_ && client_ended_ && to_server_.empty() && !write_ended_ && !connecting_) {
      write_ended_ = true;
      shutdown(server_.get(), SHUT_WR);
    }
  }

  Fd client_, server_;
  const Mono head_deadline_;
  std::string head_, to_server_, to_client_;
  std::unique_ptr<BodyMeter> meter_;
  bool connecting_ = false, tunnel_ = false, refused_ = false;
  bool client_ended_ = false, server_ended_ = false, write_ended_ = false, over_ = false;
};

bool SendSocket(int control) {
  const Fd fresh(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  char byte = fresh ? 's' : 'x';
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fresh) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = fresh.get();
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return sendmsg(control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

class DoorServer {
 public:
  explicit DoorServer(DoorPlan plan) : plan_(std::move(plan)) {}

  int Run() {
    for (;;) {
      std::vector<pollfd> polls{{plan_.control.get(), POLLIN, 0}};
      const bool room = plan_.listener && passages_.size() < kMaxDoorConnections;
      polls.push_back({room ? plan_.listener.get() : -1, POLLIN, 0});
      for (const Passage& passage : passages_) {
        polls.push_back({passage.client(), passage.ClientEvents(), 0});
        // A server that hung up would wake poll for ever while its last bytes wait for a slow client.
        const short events = passage.ServerEvents();
        polls.push_back({events ? passage.server() : -1, events, 0});
      }
      if (poll(polls.data(), polls.size(), passages_.empty() ? -1 : 1000) < 0 && errno != EINTR) return 1;
      if (polls[0].revents && !OnControl()) return 0;
      size_t at = 2;
      for (Passage& passage : passages_) {
        // The server's side first: an answer is passed on before a hang-up ends the passage.
        if (polls[at + 1].revents) passage.OnServer(polls[at + 1].revents);
        if (polls[at].revents && !passage.over()) passage.OnClient(polls[at].revents, plan_);
        if (passage.HeadIsLate(clock_.MonoNow())) passage.End();
        at += 2;
      }
      passages_.remove_if([](const Passage& passage) { return passage.over(); });
      if (polls[1].revents & POLLIN) Accept();
    }
  }

 private:
  bool OnControl() {
    char byte = 0;
    const ssize_t got = recv(plan_.control.get(), &byte, 1, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    return got == 1 && SendSocket(plan_.control.get());
  }

  void Accept() {
    Fd client(accept4(plan_.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) passages_.emplace_back(std::move(client), clock_.MonoNow() + kHeadTimeout);
  }

  DoorPlan plan_;
  SystemClock clock_;
  std::list<Passage> passages_;
};

}  // namespace

int RunDoor(DoorPlan plan) { return DoorServer(std::move(plan)).Run(); }

Result<Fd> AskForSocket(int control) {
  const char ask = 's';
  if (send(control, &ask, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return Fail(SysError("asking the door"));
  pollfd wait{control, POLLIN, 0};
  if (poll(&wait, 1, kControlReplyMs) != 1) return Fail(Code::kTimeout, "the door does not answer");
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != 1) return Fail(SysError("hearing the door"));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS)
    return Fail(Code::kUnavailable, "the door has no socket to give");
  int fd = -1;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

}  // namespace cubeplane::engine::node
