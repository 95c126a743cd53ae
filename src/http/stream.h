// Connections as the rest of this folder sees them: TCP and Unix sockets, plain or TLS, behind one type, so
// that sessions are compiled once. Private to this folder; includes the network library.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "http/client.h"

namespace boost::asio::ssl {
class context;
}

namespace cubeplane::http {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Strand = asio::strand<asio::io_context::executor_type>;
using IoHandler = std::move_only_function<void(ErrorCode, size_t)>;

// One connection. Threading: on its strand. At most one read and one write at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  static std::unique_ptr<Stream> Plain(Socket socket);
  // `server_name` is verified and sent as SNI by clients; empty for servers.
  static std::unique_ptr<Stream> Tls(Socket socket, std::shared_ptr<asio::ssl::context> context, bool server,
                                     const std::string& server_name);

  virtual void Handshake(std::move_only_function<void(ErrorCode)> done) = 0;
  virtual void ReadSome(asio::mutable_buffer buffer, IoHandler done) = 0;
  // Writes both texts whole; they must live until `done`.
  virtual void WriteAll(std::string_view head, std::string_view body, IoHandler done) = 0;
  virtual Socket& socket() = 0;
  // The common name of the verified certificate of the other side; "" when there is none.
  virtual std::string PeerName() = 0;

  void ShutdownSend();
  void Close();
};

// Who must be closed before the threads can end.
class Closable {
 public:
  virtual ~Closable() = default;
  // From any thread; idempotent; afterwards nothing of it stays pending.
  virtual void Close() = 0;
};

// An io_context with its threads. Sessions and connections hold it by shared_ptr; Stop breaks the circle.
// Threading: any.
class IoThreads {
 public:
  IoThreads();
  void Start(size_t threads);
  // Closes what is registered, runs what is left to its end, joins the threads. Idempotent.
  void Stop();
  Strand NewStrand() { return asio::make_strand(context_.get_executor()); }
  asio::io_context& context() { return context_; }
  // Runs `work` on the strand; false (work dropped) once Stop has closed everything.
  template <class F>
  bool Post(const Strand& strand, F work) {
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    asio::post(strand, std::move(work));
    return true;
  }
  // False after Stop began: the caller closes it itself, on its strand.
  bool Register(std::weak_ptr<Closable> closable);

 private:
  asio::io_context context_;
  std::mutex mutex_;
  bool closing_ = false;                            // guarded by mutex_
  bool stopped_ = false;                            // guarded by mutex_
  std::vector<std::weak_ptr<Closable>> closables_;  // guarded by mutex_
  size_t next_sweep_ = 64;                          // guarded by mutex_
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::vector<std::thread> threads_;
};

struct IoContext::Impl {
  std::shared_ptr<IoThreads> threads;
};

// no_delay and keep-alive where the socket is TCP.
void TuneSocket(Socket& socket);

// Errors: kInvalid with what is wrong with the PEM texts.
Result<std::shared_ptr<asio::ssl::context>> ServerTls(const std::string& cert_pem, const std::string& key_pem,
                                                      const std::string& client_ca_pem);
Result<std::shared_ptr<asio::ssl::context>> ClientTls(const Endpoint& endpoint);

}  // namespace cubeplane::http
