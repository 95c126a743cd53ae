#include "engine/node/probe.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cubeplane::engine::node {

Probe::Probe(Fd socket, const HttpProbe& probe, Mono now)
    : socket_(std::move(socket)),
      deadline_(now + probe.timeout),
      request_("GET " + probe.path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(probe.port) +
               "\r\nUser-Agent: cubeplane-probe\r\nAccept: */*\r\nConnection: close\r\n\r\n") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(probe.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    result_ = false;
  }
}

short Probe::events() const { return request_.empty() ? POLLIN : POLLOUT; }

void Probe::OnEvent() {
  if (!request_.empty()) {
    const ssize_t sent = send(socket_.get(), request_.data(), request_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) result_ = false;
    if (sent > 0) request_.erase(0, static_cast<size_t>(sent));
    return;
  }
  char buffer[64];
  const ssize_t got = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) answer_.append(buffer, static_cast<size_t>(got));
  // "HTTP/1.1 200": the status is there with the 12th byte.
  if (answer_.size() < 12 && got > 0) return;
  result_ =
      answer_.size() >= 12 && answer_.starts_with("HTTP/1.") && (answer_[9] == '2' || answer_[9] == '3');
}

}  // namespace cubeplane::engine::node
