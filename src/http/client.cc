#include "http/client.h"

#include <algorithm>

#include "http/connection.h"

namespace cubeplane::http {
namespace {

bool IsIdempotent(std::string_view method) {
  static constexpr std::string_view kMethods[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
  return std::ranges::find(kMethods, method) != std::end(kMethods);
}

bool IsClean(std::string_view text, bool blanks) {
  return std::ranges::none_of(text, [blanks](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F || (!blanks && (c == ' ' || c == '\t' || c == ':'));
  });
}

bool TargetIsClean(std::string_view target) {
  return target.starts_with('/') && std::ranges::none_of(target, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= 0x20 || byte >= 0x7F;
         });
}

// The head of the request as it goes over the wire. Errors: kInvalid for texts that would break out of their
// place.
Result<std::string> HeadOf(const Request& request, const Endpoint& endpoint) {
  if (!IsClean(request.method, false) || request.method.empty())
    return Fail(Code::kInvalid, "the method is malformed");
  if (!TargetIsClean(request.target)) {
    return Fail(Code::kInvalid,
                "the request target must be a path of printable ASCII; percent-encode the rest");
  }
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (!request.headers.Has("Host")) {
    head += "Host: " + (endpoint.unix_path.empty() ? NameOf(endpoint) : std::string("localhost")) + "\r\n";
  }
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || !IsClean(name, false) || !IsClean(value, true)) {
      return Fail(Code::kInvalid,
                  "the header field " + name.substr(0, 40) + " holds characters that are not allowed");
    }
    head += name + ": " + value + "\r\n";
  }
  const bool has_body = !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
                        request.method == "PATCH";
  if (has_body && !request.headers.Has("Content-Length")) {
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return head + "\r\n";
}

}  // namespace

IoContext::IoContext(size_t threads) : impl_(std::make_unique<Impl>()) {
  impl_->threads = std::make_shared<IoThreads>();
  impl_->threads->Start(threads);
}

IoContext::~IoContext() { impl_->threads->Stop(); }

struct Client::Impl {
  std::shared_ptr<IoThreads> io;
  async::Executor& executor;
  std::shared_ptr<const Endpoint> endpoint;
  std::shared_ptr<asio::ssl::context> tls;
  std::optional<Error> broken;  // why no connection can ever be made
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();

  std::shared_ptr<Connection> Fresh() { return std::make_shared<Connection>(io, endpoint, tls, pool); }
};

Client::Client(IoContext& io, async::Executor& executor, Endpoint endpoint)
    : impl_(new Impl{.io = io.impl().threads,
                     .executor = executor,
                     .endpoint = std::make_shared<const Endpoint>(std::move(endpoint))}) {
  if (!impl_->endpoint->tls) return;
  auto tls = ClientTls(*impl_->endpoint);
  if (tls) {
    impl_->tls = std::move(*tls);
  } else {
    impl_->broken = tls.error();
  }
}

Client::~Client() { impl_->pool->Close(); }

async::Task<Result<Response>> Client::Send(Request request, SendOptions options) {
  const std::shared_ptr<Impl> impl = impl_;
  if (impl->broken) co_return std::unexpected(*impl->broken);
  Result<std::string> head = HeadOf(request, *impl->endpoint);
  CO_RETURN_IF_ERROR(head);

  // A caller that is destroyed while it waits gives the exchange up.
  struct Canceller {
    std::shared_ptr<Connection> connection;
    std::shared_ptr<Exchange> exchange;
    ~Canceller() {
      if (connection) connection->Cancel(exchange);
    }
  };
  std::shared_ptr<Connection> connection = impl->pool->Take();
  for (;;) {
    const bool kept = connection != nullptr;
    if (!kept) connection = impl->Fresh();
    auto exchange = std::make_shared<Exchange>(impl->executor);
    exchange->head = *head;
    exchange->body = request.body;
    exchange->is_head = request.method == "HEAD";
    exchange->options = options;
    Canceller canceller{connection, exchange};
    connection->Run(exchange);
    Outcome outcome = co_await exchange->done.Wait();
    canceller.connection = nullptr;
    const bool again = kept && (outcome.unsent || (outcome.unanswered && IsIdempotent(request.method)));
    if (!again) co_return std::move(outcome.result);
    connection = nullptr;  // the second attempt takes a connection of its own
  }
}

}  // namespace cubeplane::http
