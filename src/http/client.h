// The Transport over a network: TCP, TLS or a Unix socket, HTTP/1.1 with kept connections.
#pragma once

#include <memory>
#include <string>

#include "async/executor.h"
#include "http/transport.h"

namespace cubeplane::http {

// The I/O threads that clients share.
class IoContext {
 public:
  explicit IoContext(size_t threads = 1);
  ~IoContext();
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct Endpoint {
  std::string unix_path;  // either …
  std::string host;       // … or host and port
  uint16_t port = 0;
  bool tls = false;
  std::string ca_pem;       // verified against this; the system's when empty
  std::string server_name;  // for SNI and verification; host when empty
  std::string client_cert_pem, client_key_pem;
};

class Client final : public Transport {
 public:
  Client(IoContext& io, async::Executor& executor, Endpoint endpoint);
  ~Client() override;
  async::Task<Result<Response>> Send(Request request, SendOptions options) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cubeplane::http
