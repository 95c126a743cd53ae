#include "http/transport.h"

namespace cubeplane::http {
namespace {

// A body that is there already, given as one piece.
class ReadyStream final : public BodyStream {
 public:
  explicit ReadyStream(std::string body) : body_(std::move(body)) {}
  async::Task<Result<std::string>> Read() override { co_return std::exchange(body_, {}); }
  void Close() override { body_.clear(); }

 private:
  std::string body_;
};

async::Task<Result<std::string>> ReadAll(std::shared_ptr<BodyStream> stream, size_t max_bytes) {
  std::string body;
  for (;;) {
    Result<std::string> piece = co_await stream->Read();
    CO_RETURN_IF_ERROR(piece);
    if (piece->empty()) co_return body;
    if (body.size() + piece->size() > max_bytes) {
      stream->Close();
      co_return Fail(Code::kTooLarge, "the answer has more than " + std::to_string(max_bytes) + " bytes");
    }
    body += *piece;
  }
}

}  // namespace

async::Task<Result<Response>> InProcessTransport::Send(Request request, SendOptions options) {
  request.peer = peer_;
  Response response = co_await handler_.Handle(std::move(request));
  if (options.stream) {
    if (!response.stream) response.stream = std::make_shared<ReadyStream>(std::exchange(response.body, {}));
    co_return response;
  }
  if (response.stream) {
    Result<std::string> body = co_await ReadAll(response.stream, options.max_body);
    CO_RETURN_IF_ERROR(body);
    response.body = std::move(*body);
    response.stream = nullptr;
  }
  if (response.body.size() > options.max_body) {
    co_return Fail(Code::kTooLarge,
                   "the answer has more than " + std::to_string(options.max_body) + " bytes");
  }
  co_return response;
}

}  // namespace cubeplane::http
