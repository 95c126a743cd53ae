#include "http/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace cubeplane::http {
namespace {

// Texts up to this size are joined with their head, so that a small answer is one record and one segment.
constexpr size_t kJoin = 16u << 10;
constexpr int kKeepAliveIdleS = 30;
constexpr int kKeepAliveProbes = 3;

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}
  void Handshake(std::move_only_function<void(ErrorCode)> done) override { done({}); }
  void ReadSome(asio::mutable_buffer buffer, IoHandler done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void WriteAll(std::string_view head, std::string_view body, IoHandler done) override {
    const std::array<asio::const_buffer, 2> both{asio::buffer(head), asio::buffer(body)};
    asio::async_write(socket_, both, std::move(done));
  }
  Socket& socket() override { return socket_; }
  std::string PeerName() override { return {}; }

 private:
  Socket socket_;
};

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, std::shared_ptr<asio::ssl::context> context, bool server,
            const std::string& server_name)
      : context_(std::move(context)), stream_(std::move(socket), *context_), server_(server) {
    if (server) return;
    ErrorCode not_an_address;
    asio::ip::make_address(server_name, not_an_address);
    if (not_an_address) SSL_set_tlsext_host_name(stream_.native_handle(), server_name.c_str());
    stream_.set_verify_callback(asio::ssl::host_name_verification(server_name));
  }
  void Handshake(std::move_only_function<void(ErrorCode)> done) override {
    stream_.async_handshake(server_ ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
                            std::move(done));
  }
  void ReadSome(asio::mutable_buffer buffer, IoHandler done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void WriteAll(std::string_view head, std::string_view body, IoHandler done) override {
    if (body.size() <= kJoin) {
      joined_.assign(head).append(body);
      asio::async_write(stream_, asio::buffer(joined_), std::move(done));
      return;
    }
    const std::array<asio::const_buffer, 2> both{asio::buffer(head), asio::buffer(body)};
    asio::async_write(stream_, both, std::move(done));
  }
  Socket& socket() override { return stream_.next_layer(); }
  std::string PeerName() override {
    const std::unique_ptr<X509, decltype(&X509_free)> cert(SSL_get1_peer_certificate(stream_.native_handle()),
                                                           &X509_free);
    if (!cert || SSL_get_verify_result(stream_.native_handle()) != X509_V_OK) return {};
    char name[256];
    const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(cert.get()), NID_commonName, name,
                                                 static_cast<int>(sizeof name));
    return length > 0 ? std::string(name, static_cast<size_t>(length)) : std::string();
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<Socket> stream_;
  std::string joined_;  // what the write under way sends
  const bool server_;
};

Error TlsError(const char* what, const ErrorCode& error) {
  return Error(Code::kInvalid, std::string(what) + " cannot be used: " + error.message());
}

Result<> UseKeyPair(asio::ssl::context& context, const std::string& cert_pem, const std::string& key_pem) {
  ErrorCode error;
  context.use_certificate_chain(asio::buffer(cert_pem), error);
  if (error) return Fail(TlsError("the TLS certificate", error));
  context.use_private_key(asio::buffer(key_pem), asio::ssl::context::pem, error);
  if (error) return Fail(TlsError("the TLS key", error));
  return {};
}

}  // namespace

std::unique_ptr<Stream> Stream::Plain(Socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> Stream::Tls(Socket socket, std::shared_ptr<asio::ssl::context> context, bool server,
                                    const std::string& server_name) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context), server, server_name);
}

void Stream::ShutdownSend() {
  ErrorCode ignored;
  socket().shutdown(Socket::shutdown_send, ignored);
}

void Stream::Close() {
  ErrorCode ignored;
  socket().close(ignored);
}

IoThreads::IoThreads() : work_(asio::make_work_guard(context_)) {}

void IoThreads::Start(size_t threads) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { context_.run(); });
  }
}

void IoThreads::Stop() {
  std::vector<std::weak_ptr<Closable>> closables;
  {
    std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;  // nobody registers from here on
    closables = std::move(closables_);
  }
  for (const auto& weak : closables) {
    if (const auto closable = weak.lock()) closable->Close();
  }
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.reset();
  if (threads_.empty()) context_.run();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool IoThreads::Register(std::weak_ptr<Closable> closable) {
  std::lock_guard lock(mutex_);
  if (closing_) return false;
  closables_.push_back(std::move(closable));
  if (closables_.size() >= next_sweep_) {
    std::erase_if(closables_, [](const auto& weak) { return weak.expired(); });
    next_sweep_ = 2 * closables_.size() + 64;
  }
  return true;
}

void TuneSocket(Socket& socket) {
  int domain = 0;
  socklen_t length = sizeof domain;
  const int fd = socket.native_handle();
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain == AF_UNIX) return;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdleS, sizeof kKeepAliveIdleS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveIdleS, sizeof kKeepAliveIdleS);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
}

Result<std::shared_ptr<asio::ssl::context>> ServerTls(const std::string& cert_pem, const std::string& key_pem,
                                                      const std::string& client_ca_pem) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_session_id_context(context->native_handle(),
                                 reinterpret_cast<const unsigned char*>("cubeplane"), 9);
  RETURN_IF_ERROR(UseKeyPair(*context, cert_pem, key_pem));
  if (client_ca_pem.empty()) return context;
  ErrorCode error;
  context->add_certificate_authority(asio::buffer(client_ca_pem), error);
  if (error) return Fail(TlsError("the CA of client certificates", error));
  context->set_verify_mode(asio::ssl::verify_peer);
  return context;
}

Result<std::shared_ptr<asio::ssl::context>> ClientTls(const Endpoint& endpoint) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_verify_mode(asio::ssl::verify_peer);
  ErrorCode error;
  if (endpoint.ca_pem.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->add_certificate_authority(asio::buffer(endpoint.ca_pem), error);
  }
  if (error) return Fail(TlsError("the CA certificates", error));
  if (!endpoint.client_cert_pem.empty())
    RETURN_IF_ERROR(UseKeyPair(*context, endpoint.client_cert_pem, endpoint.client_key_pem));
  return context;
}

}  // namespace cubeplane::http
