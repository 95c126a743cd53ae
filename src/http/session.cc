#include "http/session.h"

#include <charconv>

#include "http/status.h"

namespace cubeplane::http {
namespace {

namespace beast = boost::beast;
using std::chrono::seconds;

constexpr size_t kReadSize = 16u << 10;
constexpr size_t kLingerBytes = 16u << 20;
constexpr Duration kLingerTime = seconds(2);

bool IsToken(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!alnum && std::string_view("!#$%&'*+-.^_`|~").find(c) == std::string_view::npos) return false;
  }
  return true;
}

// Fields that the session writes itself, and texts that would break out of a field.
bool MaySend(std::string_view name, std::string_view value) {
  if (!IsToken(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
    return false;
  const beast::http::field known = beast::http::string_to_field(beast::string_view(name.data(), name.size()));
  return known != beast::http::field::content_length && known != beast::http::field::transfer_encoding &&
         known != beast::http::field::connection;
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

std::string Chunk(std::string_view piece) {
  char size[20];
  const auto [end, error] = std::to_chars(size, size + sizeof size, piece.size(), 16);
  std::string out(size, end);
  out.append("\r\n").append(piece).append("\r\n");
  return out;
}

std::string ReasonPhrase(int status) {
  const auto known = beast::http::int_to_status(static_cast<unsigned>(status));
  if (known == beast::http::status::unknown) return "Status";
  const auto phrase = beast::http::obsolete_reason(known);
  return std::string(phrase.data(), phrase.size());
}

}  // namespace

bool ServerCore::TakePlace(std::function<void()> freed) {
  std::lock_guard lock(mutex_);
  if (connections_ >= limits.max_connections) {
    waiting_.push_back(std::move(freed));
    return false;
  }
  ++connections_;
  return true;
}

void ServerCore::GivePlace() {
  std::vector<std::function<void()>> waiting;
  {
    std::lock_guard lock(mutex_);
    --connections_;
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& freed : waiting) freed();
}

Session::Session(std::shared_ptr<ServerCore> core, Strand strand, std::unique_ptr<Stream> stream, Peer peer)
    : core_(std::move(core)),
      strand_(std::move(strand)),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      timer_(strand_),
      buffer_(core_->limits.max_head + 2 * kReadSize) {}

Session::~Session() { core_->GivePlace(); }

void Session::Start() {
  OnStrand([self = shared_from_this()] {
    if (!self->core_->io->Register(self)) return self->CloseNow();
    self->SetTimer(self->core_->limits.head_timeout);
    self->stream_->Handshake([self](ErrorCode error) {
      if (error || self->closed_) return self->CloseNow();
      self->peer_.tls_name = self->stream_->PeerName();
      self->NextRequest();
    });
  });
}

void Session::Close() {
  OnStrand([self = shared_from_this()] { self->CloseNow(); });
}

void Session::CloseNow() {
  if (closed_) return;
  closed_ = true;
  timer_.cancel();
  stream_->Close();
  PeerGone();
}

void Session::NextRequest() {
  if (closed_) return;
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(core_->limits.max_head));
  parser_->body_limit(core_->limits.max_body);
  head_done_ = false;
  const bool begun = buffer_.size() > 0;
  phase_ = begun ? Phase::kHead : Phase::kIdle;
  SetTimer(begun ? core_->limits.head_timeout : core_->limits.idle_timeout);
  if (begun) {
    Parse();
  } else {
    Read();
  }
}

void Session::Read() {
  if (closed_ || reading_) return;
  reading_ = true;
  stream_->ReadSome(buffer_.prepare(kReadSize), [self = shared_from_this()](ErrorCode error, size_t bytes) {
    self->reading_ = false;
    self->OnRead(error, bytes);
  });
}

void Session::OnRead(ErrorCode error, size_t bytes) {
  if (closed_) return;
  if (phase_ == Phase::kLingering) {
    lingered_ += bytes;
    if (error || lingered_ > kLingerBytes) return CloseNow();
    return Read();
  }
  if (phase_ == Phase::kStreaming) {
    if (error) return CloseNow();
    buffer_.commit(bytes);
    return WatchPeer();
  }
  buffer_.commit(bytes);
  // A peer that has only ended its sending side still gets its answer; an ended request is no request.
  if (phase_ == Phase::kHandler) {
    if (error) keep_ = false;
    return;
  }
  if (error) return CloseNow();
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kHead;
    SetTimer(core_->limits.head_timeout);
  }
  Parse();
}

void Session::Parse() {
  while (!parser_->is_done()) {
    if (buffer_.size() == 0) return Read();
    ErrorCode error;
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (!head_done_ && parser_->is_header_done()) {
      head_done_ = true;
      if (!HeadArrived()) return;
    }
    if (error == beast::http::error::need_more) {
      if (head_done_ && buffer_.size() > kReadSize)
        return Refuse(400, Code::kBadRequest, "a chunk's head is too long");
      return Read();
    }
    if (error) return RefuseUnreadable(error);
  }
  if (!continuing_) Dispatch();
}

bool Session::HeadArrived() {
  const auto& message = parser_->get();
  const auto deny = [&](Code code, const char* what) {
    Refuse(HttpStatus(code), code, what);
    return false;
  };
  const auto target = message.target();
  const bool has_length = message.count(beast::http::field::content_length) > 0;
  const bool has_coding = message.count(beast::http::field::transfer_encoding) > 0;
  if (has_length && has_coding)
    return deny(Code::kBadRequest, "both Content-Length and Transfer-Encoding are given");
  if (has_length && message[beast::http::field::content_length].find_first_not_of("0123456789") !=
                        beast::string_view::npos) {
    return deny(Code::kBadRequest, "Content-Length is no number");
  }
  if (message.count(beast::http::field::content_length) > 1)
    return deny(Code::kBadRequest, "Content-Length is given twice");
  if (has_coding && (message.count(beast::http::field::transfer_encoding) > 1 ||
                     !beast::iequals(message[beast::http::field::transfer_encoding], "chunked"))) {
    return deny(Code::kBadRequest, "the only Transfer-Encoding that is read is chunked");
  }
  if (message.version() != 11 && message.version() != 10)
    return deny(Code::kBadRequest, "HTTP/1.1 and HTTP/1.0 are spoken here");
  const size_t hosts = message.count(beast::http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() == 11))
    return deny(Code::kBadRequest, "exactly one Host field is needed");
  const bool asterisk = target == "*" && message.method() == beast::http::verb::options;
  if (!asterisk && !target.starts_with('/'))
    return deny(Code::kBadRequest, "the request target must be a path");
  phase_ = Phase::kBody;
  SetTimer(core_->limits.idle_timeout);
  if (!parser_->is_done() && beast::iequals(message[beast::http::field::expect], "100-continue"))
    SendContinue();
  return true;
}

void Session::SendContinue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  continuing_ = true;
  stream_->WriteAll(kContinue, {}, [self = shared_from_this()](ErrorCode error, size_t) {
    self->continuing_ = false;
    if (error) return self->CloseNow();
    if (self->held_) return self->Respond(*std::exchange(self->held_, std::nullopt));
    if (self->phase_ == Phase::kBody && self->parser_->is_done()) self->Dispatch();
  });
}

void Session::RefuseUnreadable(ErrorCode error) {
  if (error == beast::http::error::header_limit) {
    return Refuse(431, Code::kTooLarge,
                  "the request's head is larger than " + std::to_string(core_->limits.max_head) + " bytes");
  }
  if (error == beast::http::error::body_limit) {
    return Refuse(413, Code::kTooLarge,
                  "the request's body is larger than " + std::to_string(core_->limits.max_body) + " bytes");
  }
  Refuse(400, Code::kBadRequest, "this is no HTTP request that can be read: " + error.message());
}

void Session::Refuse(int status, Code code, std::string message) {
  keep_ = false;
  is_head_ = false;
  Respond(ErrorResponse(status, Error(code, std::move(message))));
}

void Session::Dispatch() {
  auto message = parser_->release();
  keep_ = message.keep_alive();
  chunked_ = message.version() == 11;
  is_head_ = message.method() == beast::http::verb::head;
  Request request;
  request.method.assign(message.method_string().data(), message.method_string().size());
  request.target.assign(message.target().data(), message.target().size());
  for (const auto& field : message) {
    const auto name = field.name_string();
    const auto value = field.value();
    request.headers.Add(std::string_view(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  request.body = std::move(message.body());
  request.peer = peer_;
  phase_ = Phase::kHandler;
  timer_.cancel();
  core_->executor.Post([self = shared_from_this(), request = std::move(request)]() mutable {
    auto& group = self->core_->group;
    if (group) group->Spawn(Run(self, std::move(request)));
  });
}

async::Task<void> Session::Run(std::shared_ptr<Session> self, Request request) {
  Response response = co_await self->core_->handler.Handle(std::move(request));
  if (!response.stream || self->is_head_ || !HasBody(response.status)) {
    if (response.stream) response.stream->Close();
    self->OnStrand([self, response = std::move(response)]() mutable { self->Respond(std::move(response)); });
    co_return;
  }
  auto exchange = std::make_shared<Exchange>();
  exchange->stream = response.stream;
  co_await Pump(self, exchange, std::move(response));
  exchange->stream = nullptr;
}

async::Task<void> Session::Pump(std::shared_ptr<Session> self, std::shared_ptr<Exchange> exchange,
                                Response response) {
  const std::shared_ptr<BodyStream> stream = response.stream;
  // A frame that is destroyed while it waits lets the producer go, too.
  struct Closer {
    std::shared_ptr<BodyStream> stream;
    ~Closer() { stream->Close(); }
  } closer{stream};
  async::OneShot<bool> begun(self->core_->executor);
  self->OnStrand([self, exchange, begun, response = std::move(response)]() mutable {
    self->StartStreaming(std::move(response), exchange, begun);
  });
  bool goes_on = co_await begun.Wait();
  bool whole = false;
  while (goes_on && !exchange->gone) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece) break;
    if (piece->empty()) {
      whole = true;
      break;
    }
    async::OneShot<bool> sent(self->core_->executor);
    self->OnStrand(
        [self, sent, text = std::move(*piece)]() mutable { self->WriteChunk(std::move(text), sent); });
    goes_on = co_await sent.Wait();
  }
  self->OnStrand([self, whole] { self->EndStreaming(whole); });
}

std::string Session::HeadOf(const Response& response, bool streamed) {
  std::string head =
      "HTTP/1.1 " + std::to_string(response.status) + " " + ReasonPhrase(response.status) + "\r\n";
  for (const auto& [name, value] : response.headers) {
    if (MaySend(name, value)) head += name + ": " + value + "\r\n";
  }
  if (streamed) {
    if (chunked_) head += "Transfer-Encoding: chunked\r\n";
  } else if (HasBody(response.status)) {
    head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (!keep_) head += "Connection: close\r\n";
  return head + "\r\n";
}

void Session::Respond(Response response) {
  if (closed_) return;
  if (continuing_) {
    held_ = std::move(response);
    return;
  }
  if (response.status < 200 || response.status > 599) {
    response = ErrorResponse(
        Error(Code::kInternal, "the handler gave the impossible status " + std::to_string(response.status)));
  }
  if (beast::iequals(beast::string_view(response.headers.Get("Connection")), "close")) keep_ = false;
  phase_ = Phase::kHandler;
  out_head_ = HeadOf(response, false);
  out_body_ = is_head_ || !HasBody(response.status) ? std::string() : std::move(response.body);
  SetTimer(core_->limits.idle_timeout);
  stream_->WriteAll(out_head_, out_body_,
                    [self = shared_from_this()](ErrorCode error, size_t) { self->Written(error); });
}

void Session::Written(ErrorCode error) {
  if (error) return CloseNow();
  if (closed_) return;
  out_body_ = {};
  if (keep_) return NextRequest();
  Linger();
}

// Lets the peer read our last answer: closing with unread bytes on our side would reset the connection under
// it.
void Session::Linger() {
  if (closed_) return;
  phase_ = Phase::kLingering;
  buffer_.clear();
  stream_->ShutdownSend();
  SetTimer(kLingerTime);
  Read();
}

void Session::StartStreaming(Response response, std::shared_ptr<Exchange> exchange,
                             async::OneShot<bool> done) {
  if (closed_) {
    done.Set(false);
    return;
  }
  if (!chunked_) keep_ = false;
  exchange_ = std::move(exchange);
  phase_ = Phase::kStreaming;
  out_head_ = HeadOf(response, true);
  SetTimer(core_->limits.idle_timeout);
  stream_->WriteAll(out_head_, {}, [self = shared_from_this(), done](ErrorCode error, size_t) {
    if (error) self->CloseNow();
    self->timer_.cancel();
    done.Set(!self->closed_);
  });
  WatchPeer();
}

void Session::WriteChunk(std::string piece, async::OneShot<bool> done) {
  if (closed_) {
    done.Set(false);
    return;
  }
  out_body_ = chunked_ ? Chunk(piece) : std::move(piece);
  SetTimer(core_->limits.idle_timeout);
  stream_->WriteAll(out_body_, {}, [self = shared_from_this(), done](ErrorCode error, size_t) {
    if (error) self->CloseNow();
    self->timer_.cancel();
    done.Set(!self->closed_);
  });
}

void Session::EndStreaming(bool whole) {
  exchange_ = nullptr;
  if (closed_) return;
  // A stream that ended in an error must not look whole to the peer.
  if (!whole) return CloseNow();
  phase_ = Phase::kHandler;
  if (!chunked_) return Linger();
  out_body_ = "0\r\n\r\n";
  SetTimer(core_->limits.idle_timeout);
  stream_->WriteAll(out_body_, {},
                    [self = shared_from_this()](ErrorCode error, size_t) { self->Written(error); });
}

// While an answer is streamed a read is pending, so that a peer that goes away is noticed between two pieces.
void Session::WatchPeer() {
  if (buffer_.size() < kReadSize) Read();
}

void Session::PeerGone() {
  if (!exchange_) return;
  core_->executor.Post([exchange = std::exchange(exchange_, nullptr)] {
    exchange->gone = true;
    if (exchange->stream) exchange->stream->Close();
  });
}

void Session::SetTimer(Duration after) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(after));
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (!error) self->OnTimer();
  });
}

void Session::OnTimer() {
  // A timer that was set anew after this callback was queued.
  if (closed_ || timer_.expiry() > std::chrono::steady_clock::now()) return;
  if (phase_ != Phase::kHead && phase_ != Phase::kBody) return CloseNow();
  keep_ = false;
  is_head_ = false;
  Respond(ErrorResponse(408, Error(Code::kTimeout, "the request did not arrive in time")));
}

}  // namespace cubeplane::http
