// HTTP/1.1 servers on loopback and Unix sockets. Bytes move on I/O threads of their own; handlers run on the
// executor.
#pragma once

#include <memory>
#include <string>

#include "async/executor.h"
#include "base/result.h"
#include "http/message.h"

namespace cubeplane::http {

struct ListenOptions {
  std::string name;       // becomes Peer::listener
  std::string unix_path;  // either a Unix socket (created with `unix_mode`, an old one replaced) …
  unsigned unix_mode = 0600;
  std::string address;  // … or an IP address and a port (0: any free one)
  uint16_t port = 0;
  std::string tls_cert_pem, tls_key_pem;  // TLS when set
  std::string tls_client_ca_pem;          // client certificates are asked for and verified when set
};

struct ServerLimits {
  size_t max_head = 64u << 10;                       // 431 above
  size_t max_body = 2u << 20;                        // 413 above
  size_t max_connections = 4096;                     // further ones wait in the backlog
  Duration head_timeout = std::chrono::seconds(10);  // slow senders
  Duration idle_timeout = std::chrono::seconds(60);
};

// Lifetime: the handler outlives the server. Stop (on the executor, or after its end) closes all and joins.
class Server {
 public:
  Server(async::Executor& executor, Handler& handler, ServerLimits limits = {});
  ~Server();
  // Errors: kAlreadyExists when the port or path is taken by a live listener, kInvalid, kForbidden.
  Result<uint16_t> Listen(const ListenOptions& options);  // gives the port (0 for Unix sockets)
  void Start(size_t threads = 1);
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cubeplane::http
