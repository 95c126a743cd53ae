#include "http/connection.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace cubeplane::http {
namespace {

namespace beast = boost::beast;
using asio::ip::tcp;

constexpr size_t kReadSize = 32u << 10;
constexpr size_t kMaxHead = 256u << 10;
constexpr size_t kMaxPiped = 1u << 20;  // bytes that wait for a stream's reader
constexpr size_t kMaxIdle = 32;         // connections kept per client
constexpr Duration kIdleTime = std::chrono::seconds(30);

// The reader's end: dropping it ends the exchange, though the connection still holds the other end.
class PipeReader final : public BodyStream {
 public:
  explicit PipeReader(std::shared_ptr<PipedBody> pipe) : pipe_(std::move(pipe)) {}
  ~PipeReader() override { pipe_->Close(); }
  async::Task<Result<std::string>> Read() override { return pipe_->Read(); }
  void Close() override { pipe_->Close(); }

 private:
  const std::shared_ptr<PipedBody> pipe_;
};

Headers HeadersOf(const beast::http::fields& fields) {
  Headers headers;
  for (const auto& field : fields) {
    headers.Add(std::string_view(field.name_string().data(), field.name_string().size()),
                std::string(field.value().data(), field.value().size()));
  }
  return headers;
}

}  // namespace

std::string NameOf(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty()) return endpoint.unix_path;
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

async::Task<Result<std::string>> PipedBody::Read() {
  for (;;) {
    std::optional<async::OneShot<bool>> wait;
    {
      std::lock_guard lock(mutex_);
      if (closed_) co_return Fail(Code::kCancelled, "the stream was closed by its reader");
      if (!text_.empty()) {
        std::string piece = std::exchange(text_, {});
        if (std::exchange(paused_, false) && connection_) connection_->Resume();
        co_return piece;
      }
      if (error_) co_return std::unexpected(*error_);
      if (ended_) co_return std::string();
      waiter_.emplace(executor_);
      wait = waiter_;
    }
    co_await wait->Wait();
  }
}

void PipedBody::Close() {
  std::unique_lock lock(mutex_);
  if (std::exchange(closed_, true)) return;
  const std::shared_ptr<Connection> connection = connection_;
  Wake(lock);
  if (connection) connection->CancelPipe(this);
}

bool PipedBody::Push(std::string piece) {
  std::unique_lock lock(mutex_);
  if (closed_) return true;
  text_ += piece;
  const bool room = text_.size() < kMaxPiped;
  if (!room) paused_ = true;
  Wake(lock);
  return room;
}

void PipedBody::End(std::optional<Error> error) {
  std::unique_lock lock(mutex_);
  if (std::exchange(ended_, true)) return;
  error_ = std::move(error);
  const std::shared_ptr<Connection> connection = std::exchange(connection_, nullptr);  // freed after the lock
  Wake(lock);
}

void PipedBody::Wake(std::unique_lock<std::mutex>& lock) {
  const auto waiter = std::exchange(waiter_, std::nullopt);
  lock.unlock();
  if (waiter) waiter->Set(true);
}

Pool::~Pool() { Close(); }

std::shared_ptr<Connection> Pool::Take() {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

bool Pool::Put(std::shared_ptr<Connection> connection) {
  std::lock_guard lock(mutex_);
  if (closed_ || idle_.size() >= kMaxIdle) return false;
  idle_.push_back(std::move(connection));
  return true;
}

void Pool::Remove(const Connection* connection) {
  std::shared_ptr<Connection> kept;  // freed outside of the lock
  std::lock_guard lock(mutex_);
  for (auto& idle : idle_) {
    if (idle.get() == connection) kept = std::move(idle);
  }
  std::erase(idle_, nullptr);
}

void Pool::Close() {
  std::vector<std::shared_ptr<Connection>> idle;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    idle = std::move(idle_);
  }
  for (const auto& connection : idle) connection->Close();
}

// The addresses of the endpoint that were not tried yet.
struct Connection::Resolving {
  explicit Resolving(const Strand& strand) : resolver(strand) {}
  tcp::resolver resolver;
  std::vector<asio::generic::stream_protocol::endpoint> left;
  ErrorCode last_error;
};

Connection::Connection(std::shared_ptr<IoThreads> io, std::shared_ptr<const Endpoint> endpoint,
                       std::shared_ptr<asio::ssl::context> tls, std::weak_ptr<Pool> pool)
    : io_(std::move(io)),
      endpoint_(std::move(endpoint)),
      tls_(std::move(tls)),
      pool_(std::move(pool)),
      strand_(io_->NewStrand()),
      timer_(strand_),
      buffer_(kMaxHead + kReadSize) {}

void Connection::Run(std::shared_ptr<Exchange> exchange) {
  const bool posted = io_->Post(strand_, [self = shared_from_this(), exchange] { self->Begin(exchange); });
  if (!posted) exchange->done.Set({.result = std::unexpected(Error(Code::kCancelled, "the program stops"))});
}

void Connection::Cancel(std::shared_ptr<Exchange> exchange) {
  io_->Post(strand_, [self = shared_from_this(), exchange] {
    if (self->exchange_ == exchange) self->Fail(Error(Code::kCancelled, "the request was given up"));
  });
}

void Connection::CancelPipe(const PipedBody* pipe) {
  io_->Post(strand_, [self = shared_from_this(), pipe] {
    if (!self->exchange_ || self->exchange_->pipe.get() != pipe) return;
    self->Fail(Error(Code::kCancelled, "the stream was closed by its reader"));
  });
}

void Connection::Resume() {
  io_->Post(strand_, [self = shared_from_this()] {
    if (!std::exchange(self->paused_, false) || self->closed_ || !self->exchange_) return;
    self->Parse();
  });
}

void Connection::Close() {
  io_->Post(strand_, [self = shared_from_this()] {
    if (self->exchange_) return self->Fail(Error(Code::kCancelled, "the exchange was closed"));
    self->CloseNow();
  });
}

void Connection::Begin(std::shared_ptr<Exchange> exchange) {
  exchange_ = std::move(exchange);
  exchange_->reused = served_;
  if (!ready_ && !closed_ && !io_->Register(shared_from_this())) closed_ = true;
  if (closed_) {
    // A kept connection that ended after it was taken: nothing was sent, another may be tried.
    exchange_->done.Set(
        {.result = std::unexpected(Error(Code::kUnavailable, "the connection was closed")), .unsent = true});
    exchange_ = nullptr;
    return;
  }
  SetTimer(exchange_->options.timeout);
  if (ready_) return SendRequest();
  Connect();
}

void Connection::Connect() {
  resolving_ = std::make_shared<Resolving>(strand_);
  if (!endpoint_->unix_path.empty()) {
    // asio throws for a path that does not fit.
    if (endpoint_->unix_path.size() > 107)
      return Fail(Error(Code::kInvalid, "the socket path is too long: " + endpoint_->unix_path));
    resolving_->left = {asio::local::stream_protocol::endpoint(endpoint_->unix_path)};
    return ConnectNext();
  }
  resolving_->resolver.async_resolve(
      endpoint_->host, std::to_string(endpoint_->port), tcp::resolver::numeric_service,
      [self = shared_from_this()](ErrorCode error, const tcp::resolver::results_type& results) {
        if (self->closed_) return;
        self->resolving_->last_error = error;
        for (const auto& result : results) self->resolving_->left.emplace_back(result.endpoint());
        self->ConnectNext();
      });
}

void Connection::ConnectNext() {
  auto& left = resolving_->left;
  if (left.empty()) {
    return Fail(Error(Code::kUnavailable,
                      "no connection to " + NameOf(*endpoint_) + ": " + resolving_->last_error.message()));
  }
  const asio::generic::stream_protocol::endpoint endpoint = left.front();
  left.erase(left.begin());
  auto socket = Socket(strand_);
  ErrorCode error;
  socket.open(endpoint.protocol(), error);
  if (error) {
    resolving_->last_error = error;
    return ConnectNext();
  }
  TuneSocket(socket);
  const std::string& name = endpoint_->server_name.empty() ? endpoint_->host : endpoint_->server_name;
  stream_ = tls_ ? Stream::Tls(std::move(socket), tls_, false, name) : Stream::Plain(std::move(socket));
  stream_->socket().async_connect(endpoint, [self = shared_from_this()](ErrorCode error) {
    if (self->closed_) return;
    if (!error) return self->Connected();
    self->resolving_->last_error = error;
    self->ConnectNext();
  });
}

void Connection::Connected() {
  stream_->Handshake([self = shared_from_this()](ErrorCode error) {
    if (self->closed_) return;
    if (error) {
      return self->Fail(Error(Code::kUnavailable,
                              "no TLS connection to " + NameOf(*self->endpoint_) + ": " + error.message()));
    }
    self->ready_ = true;
    self->resolving_ = nullptr;
    self->SendRequest();
  });
}

void Connection::SendRequest() {
  NewParser();
  exchange_->sent = true;
  Read();
  // The reader tells what became of the exchange, also when the peer answers before it has taken the whole
  // request.
  stream_->WriteAll(exchange_->head, exchange_->body,
                    [self = shared_from_this(), kept = exchange_](ErrorCode, size_t) {});
}

void Connection::NewParser() {
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(kMaxHead);
  if (exchange_->options.stream) {
    parser_->body_limit(boost::none);
  } else {
    parser_->body_limit(exchange_->options.max_body);
  }
  if (exchange_->is_head) parser_->skip(true);
  head_done_ = false;
}

void Connection::Read() {
  if (closed_ || reading_ || paused_) return;
  reading_ = true;
  stream_->ReadSome(buffer_.prepare(kReadSize), [self = shared_from_this()](ErrorCode error, size_t bytes) {
    self->reading_ = false;
    self->OnRead(error, bytes);
  });
}

void Connection::OnRead(ErrorCode error, size_t bytes) {
  if (closed_) return;
  // Between two requests the peer has nothing to say but good-bye.
  if (!exchange_) return CloseNow();
  buffer_.commit(bytes);
  if (bytes > 0) exchange_->answered = true;
  if (!error) return Parse();
  if (head_done_ && error == asio::error::eof) {
    ErrorCode unfinished;
    parser_->put_eof(unfinished);
    if (!unfinished && parser_->is_done()) return Complete();
  }
  Fail(Error(Code::kInternal,
             "the connection to " + NameOf(*endpoint_) + " ended before the answer did: " + error.message()));
}

void Connection::Parse() {
  while (exchange_ && !parser_->is_done()) {
    if (buffer_.size() == 0) return Read();
    ErrorCode error;
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (!head_done_ && parser_->is_header_done() && !HeadArrived()) continue;
    if (exchange_ && exchange_->pipe) HandOver();
    if (error == beast::http::error::need_more) return Read();
    if (error == beast::http::error::body_limit) {
      return Fail(Error(Code::kTooLarge, "the answer has more than " +
                                             std::to_string(exchange_->options.max_body) + " bytes"));
    }
    if (error)
      return Fail(Error(Code::kInternal, NameOf(*endpoint_) + " does not speak HTTP: " + error.message()));
    if (paused_) return;
  }
  if (exchange_) Complete();
}

// False for an informational answer (1xx), after which the real one follows.
bool Connection::HeadArrived() {
  const unsigned status = parser_->get().result_int();
  if (status < 200 && status != 101) {
    NewParser();
    return false;
  }
  head_done_ = true;
  if (!exchange_->options.stream) return true;
  exchange_->pipe = std::make_shared<PipedBody>(exchange_->executor, shared_from_this());
  Response response;
  response.status = static_cast<int>(status);
  response.headers = HeadersOf(parser_->get());
  response.stream = std::make_shared<PipeReader>(exchange_->pipe);
  timer_.cancel();
  exchange_->finished = true;
  exchange_->done.Set({.result = std::move(response)});
  return true;
}

void Connection::HandOver() {
  std::string piece = std::exchange(parser_->get().body(), {});
  if (!piece.empty() && !exchange_->pipe->Push(std::move(piece))) paused_ = true;
}

void Connection::Complete() {
  const std::shared_ptr<Exchange> exchange = std::exchange(exchange_, nullptr);
  const bool keep = parser_->keep_alive() && buffer_.size() == 0 && parser_->get().result_int() != 101;
  paused_ = false;
  served_ = true;
  std::optional<Response> response;
  if (!exchange->pipe) {
    auto message = parser_->release();
    response.emplace();
    response->status = static_cast<int>(message.result_int());
    response->headers = HeadersOf(message);
    response->body = std::move(message.body());
  }
  SetTimer(kIdleTime);
  const auto pool = pool_.lock();
  if (keep && pool && pool->Put(shared_from_this())) {
    Read();  // notices when the peer closes
  } else {
    CloseNow();
  }
  if (exchange->pipe) {
    exchange->pipe->End(std::nullopt);
  } else {
    exchange->finished = true;
    exchange->done.Set({.result = std::move(*response)});
  }
}

void Connection::Fail(Error error) {
  const std::shared_ptr<Exchange> exchange = std::exchange(exchange_, nullptr);
  CloseNow();
  if (!exchange) return;
  if (exchange->pipe) return exchange->pipe->End(std::move(error));
  if (exchange->finished) return;
  exchange->finished = true;
  // A kept connection that is reset before any byte of an answer was most likely closed by the peer for
  // idleness.
  const bool unanswered =
      exchange->reused && exchange->sent && !exchange->answered && error.code == Code::kInternal;
  exchange->done.Set({.result = std::unexpected(std::move(error)), .unanswered = unanswered});
}

void Connection::CloseNow() {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  if (resolving_) resolving_->resolver.cancel();
  if (stream_) stream_->Close();
  if (const auto pool = pool_.lock()) pool->Remove(this);
}

void Connection::SetTimer(Duration after) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(after));
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (!error) self->OnTimer();
  });
}

void Connection::OnTimer() {
  // A timer that was set anew, or cancelled, after this callback was queued.
  if (closed_ || timer_.expiry() > std::chrono::steady_clock::now()) return;
  if (!exchange_) return CloseNow();
  if (exchange_->pipe) return;
  if (!exchange_->sent) {
    return Fail(Error(Code::kUnavailable, "no connection to " + NameOf(*endpoint_) + " in time"));
  }
  Fail(Error(Code::kTimeout, NameOf(*endpoint_) + " did not answer in time"));
}

}  // namespace cubeplane::http
