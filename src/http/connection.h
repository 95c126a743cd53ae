// One connection of a client: sends one request at a time and reads its answer. Private to this folder.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "async/sync.h"
#include "http/piece_body.h"
#include "http/stream.h"
#include "http/transport.h"

namespace cubeplane::http {

class Connection;

// What became of an exchange: an answer, or an error and whether the request may be sent again (`unsent`: not
// a byte of it left; `unanswered`: it left on a kept connection that ended without a byte of an answer).
struct Outcome {
  Result<Response> result;
  bool unsent = false;
  bool unanswered = false;
};

// A body on its way from a connection to its reader. Threading: Read and Close on the executor, the rest on
// the strand.
class PipedBody final : public BodyStream {
 public:
  PipedBody(async::Executor& executor, std::shared_ptr<Connection> connection)
      : executor_(executor), connection_(std::move(connection)) {}
  async::Task<Result<std::string>> Read() override;
  void Close() override;

  // False when the reader lags so far behind that no more should be read from the network.
  bool Push(std::string piece);
  void End(std::optional<Error> error);

 private:
  void Wake(std::unique_lock<std::mutex>& lock);

  async::Executor& executor_;
  std::mutex mutex_;
  // Guarded by mutex_.
  // Keeps a connection alive whose reading is paused; given up at the end of the body.
  std::shared_ptr<Connection> connection_;
  std::string text_;
  bool ended_ = false;
  std::optional<Error> error_;
  bool closed_ = false;
  bool paused_ = false;
  std::optional<async::OneShot<bool>> waiter_;
};

// A request being exchanged. Owned by the connection while it is under way.
struct Exchange {
  Exchange(async::Executor& executor) : executor(executor), done(executor) {}
  async::Executor& executor;
  std::string head, body;  // as they go over the wire
  bool is_head = false;    // the method is HEAD: no body follows
  SendOptions options;
  async::OneShot<Outcome> done;
  // On the strand.
  std::shared_ptr<PipedBody> pipe;
  bool sent = false;      // bytes may have left
  bool answered = false;  // bytes of an answer came
  bool reused = false;    // on a connection that has served before
  bool finished = false;  // `done` was set
};

// Where connections wait between two requests. Threading: any.
class Pool {
 public:
  ~Pool();
  std::shared_ptr<Connection> Take();
  // False when there is no room or the pool is closed.
  bool Put(std::shared_ptr<Connection> connection);
  void Remove(const Connection* connection);
  void Close();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Connection>> idle_;  // guarded by mutex_; last used last
  bool closed_ = false;                            // guarded by mutex_
};

// Threading: on its strand, but Run, Cancel, CancelPipe, Resume and Close (any thread).
class Connection final : public Closable, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<IoThreads> io, std::shared_ptr<const Endpoint> endpoint,
             std::shared_ptr<asio::ssl::context> tls, std::weak_ptr<Pool> pool);
  void Run(std::shared_ptr<Exchange> exchange);
  // Gives `exchange` up, and with it the connection, if it is still under way.
  void Cancel(std::shared_ptr<Exchange> exchange);
  // The same, by the pipe of its answer; only compared, never followed.
  void CancelPipe(const PipedBody* pipe);
  void Resume();
  void Close() override;

 private:
  struct Resolving;
  using Parser = boost::beast::http::response_parser<PieceBody>;

  void Begin(std::shared_ptr<Exchange> exchange);
  void Connect();
  void ConnectNext();
  void Connected();
  void SendRequest();
  void NewParser();
  void Read();
  void OnRead(ErrorCode error, size_t bytes);
  void Parse();
  bool HeadArrived();
  void HandOver();
  void Complete();
  void Fail(Error error);
  void CloseNow();
  void SetTimer(Duration after);
  void OnTimer();

  const std::shared_ptr<IoThreads> io_;
  const std::shared_ptr<const Endpoint> endpoint_;
  const std::shared_ptr<asio::ssl::context> tls_;
  const std::weak_ptr<Pool> pool_;
  const Strand strand_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<Resolving> resolving_;
  std::unique_ptr<Stream> stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<Exchange> exchange_;
  bool ready_ = false;   // connected, and the handshake is done
  bool served_ = false;  // an answer came over it
  bool reading_ = false;
  bool paused_ = false;  // the reader of a stream lags
  bool head_done_ = false;
  bool closed_ = false;
};

// "api.example.com:6443", "/run/x.sock": for messages.
std::string NameOf(const Endpoint& endpoint);

}  // namespace cubeplane::http
