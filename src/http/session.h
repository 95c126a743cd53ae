// One connection of a server: reads requests, has them answered, writes answers. Private to this folder.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "async/group.h"
#include "async/sync.h"
#include "http/piece_body.h"
#include "http/server.h"
#include "http/stream.h"

namespace cubeplane::http {

// What the sessions of a server share.
class ServerCore : public std::enable_shared_from_this<ServerCore> {
 public:
  ServerCore(async::Executor& executor, Handler& handler, ServerLimits limits)
      : executor(executor), handler(handler), limits(limits), io(std::make_shared<IoThreads>()) {
    group.emplace(executor);
  }
  async::Executor& executor;
  Handler& handler;
  const ServerLimits limits;
  const std::shared_ptr<IoThreads> io;
  std::optional<async::TaskGroup> group;  // on the executor; empty after Stop

  // A place for one more connection. When there is none, `freed` is called once, from any thread, when there
  // is again.
  bool TakePlace(std::function<void()> freed);
  void GivePlace();

 private:
  std::mutex mutex_;
  size_t connections_ = 0;                      // guarded by mutex_
  std::vector<std::function<void()>> waiting_;  // guarded by mutex_; at most one per listener and call
};

// Threading: on its strand, but Close (any thread). Lives as long as something of it is pending.
class Session final : public Closable, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<ServerCore> core, Strand strand, std::unique_ptr<Stream> stream, Peer peer);
  ~Session() override;
  void Start();
  void Close() override;

 private:
  // The part of one request that lives on the executor.
  struct Exchange {
    std::shared_ptr<BodyStream> stream;
    bool gone = false;
  };
  enum class Phase { kIdle, kHead, kBody, kHandler, kStreaming, kLingering };
  using Parser = boost::beast::http::request_parser<PieceBody>;

  void NextRequest();
  void Read();
  void OnRead(ErrorCode error, size_t bytes);
  void Parse();
  bool HeadArrived();
  void SendContinue();
  void Refuse(int status, Code code, std::string message);
  void RefuseUnreadable(ErrorCode error);
  void Dispatch();
  static async::Task<void> Run(std::shared_ptr<Session> self, Request request);
  static async::Task<void> Pump(std::shared_ptr<Session> self, std::shared_ptr<Exchange> exchange,
                                Response response);

  void Respond(Response response);
  void StartStreaming(Response response, std::shared_ptr<Exchange> exchange, async::OneShot<bool> done);
  void WriteChunk(std::string piece, async::OneShot<bool> done);
  void EndStreaming(bool whole);
  void WatchPeer();
  void PeerGone();
  std::string HeadOf(const Response& response, bool streamed);
  void Written(ErrorCode error);
  void Linger();
  void SetTimer(Duration after);
  void OnTimer();
  void CloseNow();
  template <class F>
  bool OnStrand(F work) {
    return core_->io->Post(strand_, std::move(work));
  }

  const std::shared_ptr<ServerCore> core_;
  const Strand strand_;
  const std::unique_ptr<Stream> stream_;
  Peer peer_;
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<Exchange> exchange_;  // while an answer is streamed
  Phase phase_ = Phase::kIdle;
  bool head_done_ = false;
  bool reading_ = false;
  bool continuing_ = false;       // "100 Continue" is being written …
  std::optional<Response> held_;  // … and this waits for it
  bool closed_ = false;
  bool keep_ = false;     // the connection goes on after this answer
  bool is_head_ = false;  // the request's method is HEAD
  bool chunked_ = false;
  size_t lingered_ = 0;
  std::string out_head_, out_body_;  // what the write under way sends
};

}  // namespace cubeplane::http
