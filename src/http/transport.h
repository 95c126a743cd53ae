// The seam where requests leave: HTTPS to a cluster, a Unix socket, or straight into a Handler in this
// process.
#pragma once

#include "async/task.h"
#include "base/clock.h"
#include "http/message.h"

namespace cubeplane::http {

struct SendOptions {
  Duration timeout =
      std::chrono::seconds(30);  // to the end of the answer's head, or of its body when not streamed
  size_t max_body = 64u << 20;   // bytes; more is kTooLarge (not for streams: they wait for their reader)
  bool stream = false;           // true: give the body as a stream (watch, logs)
};

// Threading: on the control thread.
class Transport {
 public:
  virtual ~Transport() = default;
  // The answer, whatever its status. Errors are about the exchange only: kUnavailable (no connection; the
  // request was not sent), kTimeout and kInternal (the request may have been acted on), kTooLarge,
  // kCancelled.
  virtual async::Task<Result<Response>> Send(Request request, SendOptions options) = 0;
};

// Hands requests to a handler in this process. `peer` is what the handler sees.
class InProcessTransport final : public Transport {
 public:
  InProcessTransport(Handler& handler, Peer peer) : handler_(handler), peer_(std::move(peer)) {}
  async::Task<Result<Response>> Send(Request request, SendOptions options) override;

 private:
  Handler& handler_;
  Peer peer_;
};

}  // namespace cubeplane::http
