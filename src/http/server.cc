#include "http/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <cerrno>
#include <cstring>

#include "http/session.h"

namespace cubeplane::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
constexpr int kBacklog = 511;
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

struct Fd {
  int value = -1;
  explicit Fd(int value) : value(value) {}
  Fd(Fd&& other) noexcept : value(std::exchange(other.value, -1)) {}
  ~Fd() {
    if (value >= 0) ::close(value);
  }
  int Release() { return std::exchange(value, -1); }
};

// An address with its length, as the system calls want it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Code CodeOf(int error) {
  if (error == EADDRINUSE) return Code::kAlreadyExists;
  if (error == EACCES || error == EPERM) return Code::kForbidden;
  return error == EMFILE || error == ENFILE ? Code::kUnavailable : Code::kInvalid;
}

std::string Where(const ListenOptions& options) {
  if (!options.unix_path.empty()) return options.unix_path;
  const bool v6 = options.address.find(':') != std::string::npos;
  return (v6 ? "[" + options.address + "]" : options.address) + ":" + std::to_string(options.port);
}

std::unexpected<Error> CannotListen(const ListenOptions& options, int error) {
  if (error == EADDRINUSE && options.unix_path.empty()) {
    return Fail(Code::kAlreadyExists,
                "port " + std::to_string(options.port) + " on " + options.address +
                    " is taken by another program; choose another port or stop that program");
  }
  return Fail(CodeOf(error), "cannot listen on " + Where(options) + ": " + std::strerror(error));
}

Result<Address> UnixAddress(const std::string& path) {
  Address address;
  auto* un = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.size() >= sizeof un->sun_path) {
    return Fail(Code::kInvalid, "the socket path " + path + " has " + std::to_string(path.size()) +
                                    " bytes; at most " + std::to_string(sizeof un->sun_path - 1) +
                                    " are possible");
  }
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.c_str(), path.size() + 1);
  address.length = sizeof(sockaddr_un);
  return address;
}

Result<Address> IpAddress(const ListenOptions& options) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, options.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(options.port);
    address.length = sizeof *v4;
    return address;
  }
  if (inet_pton(AF_INET6, options.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(options.port);
    address.length = sizeof *v6;
    return address;
  }
  return Fail(Code::kInvalid, "\"" + options.address + "\" is no IP address to listen on");
}

// Removes the socket that a dead process left at the path; refuses what is alive or is no socket.
Result<> RemoveStale(const std::string& path, const Address& address) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return Fail(Code::kAlreadyExists, path + " exists and is no socket; it is left alone");
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int connected = ::connect(probe.value, address.raw(), address.length);
  if (connected != 0 && errno == ECONNREFUSED) {
    unlink(path.c_str());
    return {};
  }
  return Fail(Code::kAlreadyExists, "another process listens on " + path);
}

Result<Fd> OpenUnix(const ListenOptions& options) {
  ASSIGN_OR_RETURN(const Address address, UnixAddress(options.unix_path));
  RETURN_IF_ERROR(RemoveStale(options.unix_path, address));
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.value < 0 || ::bind(fd.value, address.raw(), address.length) != 0)
    return CannotListen(options, errno);
  // Nobody can connect between bind and listen, so the mode is in force before the first peer.
  if (::chmod(options.unix_path.c_str(), options.unix_mode) != 0 || ::listen(fd.value, kBacklog) != 0) {
    const int error = errno;
    unlink(options.unix_path.c_str());
    return CannotListen(options, error);
  }
  return fd;
}

Result<Fd> OpenTcp(const ListenOptions& options) {
  ASSIGN_OR_RETURN(const Address address, IpAddress(options));
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.value < 0) return CannotListen(options, errno);
  const int on = 1;
  setsockopt(fd.value, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) setsockopt(fd.value, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.value, address.raw(), address.length) != 0 || ::listen(fd.value, kBacklog) != 0) {
    return CannotListen(options, errno);
  }
  return fd;
}

Address BoundTo(int fd) {
  Address address;
  address.length = sizeof address.storage;
  getsockname(fd, address.raw(), &address.length);
  return address;
}

uint16_t PortOf(const Address& address) {
  if (address.storage.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
  if (address.storage.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port);
  return 0;
}

Peer PeerOf(int fd, const std::string& listener) {
  Peer peer{.listener = listener};
  Address address;
  address.length = sizeof address.storage;
  if (getpeername(fd, address.raw(), &address.length) != 0) return peer;
  if (address.storage.ss_family == AF_UNIX) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) peer.unix_uid = credentials.uid;
    return peer;
  }
  char text[INET6_ADDRSTRLEN] = "";
  const bool v6 = address.storage.ss_family == AF_INET6;
  const void* raw = v6 ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6&>(address.storage).sin6_addr)
                       : static_cast<const void*>(&reinterpret_cast<sockaddr_in&>(address.storage).sin_addr);
  inet_ntop(address.storage.ss_family, raw, text, sizeof text);
  peer.address =
      (v6 ? "[" + std::string(text) + "]" : std::string(text)) + ":" + std::to_string(PortOf(address));
  return peer;
}

// One listening socket. Threading: on its strand, but Close (any thread).
class Listener final : public Closable, public std::enable_shared_from_this<Listener> {
 public:
  Listener(std::shared_ptr<ServerCore> core, ListenOptions options, std::shared_ptr<asio::ssl::context> tls,
           Fd fd)
      : core_(std::move(core)),
        options_(std::move(options)),
        tls_(std::move(tls)),
        strand_(core_->io->NewStrand()),
        acceptor_(strand_),
        timer_(strand_) {
    const Address address = BoundTo(fd.value);
    if (!options_.unix_path.empty()) lstat(options_.unix_path.c_str(), &file_);
    acceptor_.assign(asio::generic::stream_protocol(address.storage.ss_family, 0), fd.Release());
  }

  void Start() {
    core_->io->Post(strand_, [self = shared_from_this()] { self->Accept(); });
  }

  void Close() override {
    core_->io->Post(strand_, [self = shared_from_this()] {
      self->closed_ = true;
      self->timer_.cancel();
      ErrorCode ignored;
      self->acceptor_.close(ignored);
      self->RemoveFile();
    });
  }

 private:
  void Accept() {
    if (closed_ || accepting_) return;
    const bool place = core_->TakePlace([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Start();
    });
    if (!place) return;  // goes on when a connection ends
    accepting_ = true;
    const Strand strand = core_->io->NewStrand();
    auto socket = std::make_shared<Socket>(strand);
    acceptor_.async_accept(*socket, [self = shared_from_this(), socket, strand](ErrorCode error) {
      self->accepting_ = false;
      if (!error && !self->closed_) {
        self->Begin(std::move(*socket), strand);
        return self->Accept();
      }
      self->core_->GivePlace();
      if (!self->closed_) self->Pause();
    });
  }

  // Out of descriptors or memory: others must end first.
  void Pause() {
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(kAcceptPause));
    timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error) self->Accept();
    });
  }

  void Begin(Socket socket, const Strand& strand) {
    TuneSocket(socket);
    Peer peer = PeerOf(socket.native_handle(), options_.name);
    auto stream = tls_ ? Stream::Tls(std::move(socket), tls_, true, {}) : Stream::Plain(std::move(socket));
    std::make_shared<Session>(core_, strand, std::move(stream), std::move(peer))->Start();
  }

  // Only the file that we made: another server may have replaced it.
  void RemoveFile() {
    struct stat now{};
    if (options_.unix_path.empty() || lstat(options_.unix_path.c_str(), &now) != 0) return;
    if (now.st_ino == file_.st_ino && now.st_dev == file_.st_dev) unlink(options_.unix_path.c_str());
  }

  const std::shared_ptr<ServerCore> core_;
  const ListenOptions options_;
  const std::shared_ptr<asio::ssl::context> tls_;
  const Strand strand_;
  Acceptor acceptor_;
  boost::asio::steady_timer timer_;
  struct stat file_{};
  bool accepting_ = false;
  bool closed_ = false;
};

}  // namespace

struct Server::Impl {
  std::shared_ptr<ServerCore> core;
  std::vector<std::shared_ptr<Listener>> listeners;
  bool started = false;
};

Server::Server(async::Executor& executor, Handler& handler, ServerLimits limits)
    : impl_(std::make_unique<Impl>()) {
  impl_->core = std::make_shared<ServerCore>(executor, handler, limits);
}

Server::~Server() { Stop(); }

Result<uint16_t> Server::Listen(const ListenOptions& options) {
  std::shared_ptr<asio::ssl::context> tls;
  if (!options.tls_cert_pem.empty()) {
    ASSIGN_OR_RETURN(tls, ServerTls(options.tls_cert_pem, options.tls_key_pem, options.tls_client_ca_pem));
  }
  ASSIGN_OR_RETURN(Fd fd, options.unix_path.empty() ? OpenTcp(options) : OpenUnix(options));
  const uint16_t port = PortOf(BoundTo(fd.value));
  auto listener = std::make_shared<Listener>(impl_->core, options, std::move(tls), std::move(fd));
  impl_->core->io->Register(listener);
  impl_->listeners.push_back(listener);
  if (impl_->started) listener->Start();
  return port;
}

void Server::Start(size_t threads) {
  impl_->started = true;
  impl_->core->io->Start(threads);
  for (const auto& listener : impl_->listeners) listener->Start();
}

void Server::Stop() {
  impl_->core->io->Stop();
  impl_->core->group.reset();
  impl_->listeners.clear();
}

}  // namespace cubeplane::http
