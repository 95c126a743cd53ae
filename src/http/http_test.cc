#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "http/client.h"
#include "http/server.h"
#include "http/testing/rig.h"

namespace cubeplane::http {
namespace {

using testing::Rig;
using testing::RigServer;
using testing::TempDir;
using namespace std::chrono_literals;

// A stream that the test feeds.
class FedStream final : public BodyStream {
 public:
  explicit FedStream(async::Executor& executor) : pieces_(executor, 64), closed(executor) {}
  async::Task<Result<std::string>> Read() override {
    std::optional<std::string> piece = co_await pieces_.Pop();
    if (is_closed) co_return Fail(Code::kCancelled, "closed");
    if (failed) co_return Fail(Code::kInternal, "broken");
    co_return piece ? *piece : std::string();
  }
  void Close() override {
    is_closed = true;
    closed.Set(true);
    pieces_.Close();
  }
  void Feed(std::string piece) { pieces_.Push(std::move(piece)); }
  void End() { pieces_.Close(); }

 private:
  async::Channel<std::string> pieces_;

 public:
  bool is_closed = false;
  bool failed = false;
  async::OneShot<bool> closed;
};

// Answers by path.
class TestHandler final : public Handler {
 public:
  explicit TestHandler(async::Executor& executor) : executor_(executor) {}
  async::Task<Response> Handle(Request request) override {
    ++requests;
    last = request;
    Response response;
    const std::string_view path = request.path();
    if (path == "/echo") {
      response.headers.Set("Content-Type", "text/plain");
      response.headers.Set("X-Method", request.method);
      response.body = std::move(request.body);
    } else if (path == "/big") {
      response.body.assign(3u << 20, 'x');
    } else if (path == "/slow") {
      co_await async::Sleep(executor_, 300ms);
      response.body = "late";
    } else if (path == "/never") {
      co_await async::Sleep(executor_, 1h);
    } else if (path == "/empty") {
      response.status = 204;
    } else if (path == "/injected") {
      response.headers.Set("X-Bad", "a\r\nX-Evil: 1");
      response.headers.Set("X Bad", "1");
    } else if (path == "/stream") {
      stream = std::make_shared<FedStream>(executor_);
      response.stream = stream;
    } else if (path == "/close") {
      response.headers.Set("Connection", "close");
    } else {
      response.status = 404;
    }
    co_return response;
  }
  Request last;
  int requests = 0;
  std::shared_ptr<FedStream> stream;

 private:
  async::Executor& executor_;
};

// Sends raw bytes and reads until the peer closes (or, with `until`, until that text was seen).
std::string Raw(const std::string& path, std::string_view bytes, std::string_view until = {},
                bool half_close = false) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval limit{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  if (half_close) shutdown(fd, SHUT_WR);
  std::string answer;
  char buffer[4096];
  for (;;) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    answer.append(buffer, static_cast<size_t>(n));
    if (!until.empty() && answer.find(until) != std::string::npos) break;
  }
  close(fd);
  return answer;
}

class HttpTest : public ::testing::Test {
 protected:
  HttpTest() : handler(rig.loop) {}
  ~HttpTest() override {
    rig.Do([this] { handler.stream = nullptr; });
  }

  void Serve(ServerLimits limits = {}) {
    server = std::make_unique<RigServer>(rig, handler, limits);
    socket_path = dir.path() + "/s.sock";
    const auto bound = server->server->Listen({.name = "test", .unix_path = socket_path});
    ASSERT_TRUE(bound) << bound.error().message;
    server->server->Start();
    client = std::make_unique<Client>(rig.io, rig.loop, Endpoint{.unix_path = socket_path});
  }
  Result<Response> Send(Request request, SendOptions options = {}) {
    return rig.Run(client->Send(std::move(request), options));
  }
  Result<Response> Get(std::string target, SendOptions options = {}) {
    return Send({.target = std::move(target)}, options);
  }
  Result<std::string> ReadPiece(const std::shared_ptr<BodyStream>& stream) { return rig.Run(stream->Read()); }

  TempDir dir;
  Rig rig;
  TestHandler handler;
  std::unique_ptr<RigServer> server;
  std::string socket_path;
  std::unique_ptr<Client> client;
};

TEST_F(HttpTest, ExchangesOverAUnixSocketAndKnowsThePeer) {
  Serve();
  auto response = Send({.method = "POST",
                        .target = "/echo?a=b",
                        .headers = {{"X-One", "1"}, {"x-one", "2"}},
                        .body = "hello"});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.Get("x-method"), "POST");
  EXPECT_EQ(handler.last.peer.listener, "test");
  EXPECT_EQ(handler.last.peer.unix_uid, getuid());
  EXPECT_EQ(handler.last.query(), "a=b");
  EXPECT_EQ(handler.last.headers.Count("X-One"), 2u);
  EXPECT_EQ(Get("/nothing")->status, 404);
}

TEST_F(HttpTest, ExchangesOverBothLoopbacks) {
  Serve();
  for (const char* address : {"127.0.0.1", "::1"}) {
    const auto port = server->server->Listen({.name = "tcp", .address = address});
    ASSERT_TRUE(port) << port.error().message;
    Client tcp(rig.io, rig.loop, {.host = address, .port = *port});
    auto response =
        rig.Run(tcp.Send({.method = "PUT", .target = "/echo", .body = std::string(1u << 20, 'y')}, {}));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body.size(), 1u << 20);
    EXPECT_TRUE(handler.last.peer.address.find(address) != std::string::npos) << handler.last.peer.address;
    EXPECT_FALSE(handler.last.peer.unix_uid);
  }
}

TEST_F(HttpTest, KeepsConnectionsAndReopensThemAfterAServerRestart) {
  Serve({.max_connections = 1});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Get("/echo"));
  server->Stop();
  EXPECT_EQ(Get("/echo").error().code, Code::kUnavailable);
  server = nullptr;
  auto second = std::make_unique<RigServer>(rig, handler);
  ASSERT_TRUE(second->server->Listen({.name = "test", .unix_path = socket_path}));
  second->server->Start();
  EXPECT_TRUE(Get("/echo"));
}

TEST_F(HttpTest, HeadAndEmptyAnswersHaveNoBody) {
  Serve();
  auto head = Send({.method = "HEAD", .target = "/big"});
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->headers.Get("Content-Length"), std::to_string(3u << 20));
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(Get("/empty")->status, 204);
  EXPECT_TRUE(Get("/echo"));
}

TEST_F(HttpTest, LargeAnswersCountAgainstTheClientsLimit) {
  Serve();
  EXPECT_EQ(Get("/big")->body.size(), 3u << 20);
  EXPECT_EQ(Get("/big", {.max_body = 1u << 20}).error().code, Code::kTooLarge);
}

TEST_F(HttpTest, TimeoutsEndAnExchange) {
  Serve();
  EXPECT_EQ(Get("/slow", {.timeout = 50ms}).error().code, Code::kTimeout);
  EXPECT_EQ(Get("/slow")->body, "late");
}

TEST_F(HttpTest, StreamsPieceByPiece) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  ASSERT_TRUE(response && response->stream);
  for (const char* text : {"one", "two", "three"}) {
    rig.Do([&] { handler.stream->Feed(text); });
    EXPECT_EQ(ReadPiece(response->stream).value(), text);
  }
  rig.Do([&] { handler.stream->End(); });
  EXPECT_EQ(ReadPiece(response->stream).value(), "");
  EXPECT_TRUE(Get("/echo"));
}

TEST_F(HttpTest, AStreamThatBreaksDoesNotLookWhole) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  rig.Do([&] {
    handler.stream->failed = true;
    handler.stream->End();
  });
  EXPECT_FALSE(ReadPiece(response->stream));
}

TEST_F(HttpTest, APeerThatGoesAwayClosesTheProducer) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  ASSERT_TRUE(response);
  auto stream = handler.stream;
  rig.Do([&] { response->stream->Close(); });
  auto waits = [](std::shared_ptr<FedStream> stream) -> async::Task<bool> {
    bool closed = co_await stream->closed.Wait();
    co_return closed;
  };
  EXPECT_TRUE(rig.Run(waits(stream)));
  EXPECT_EQ(ReadPiece(response->stream).error().code, Code::kCancelled);
}

TEST_F(HttpTest, DroppingTheStreamEndsTheExchange) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  auto stream = handler.stream;
  rig.Do([&] { response->stream = nullptr; });
  auto waits = [](std::shared_ptr<FedStream> stream) -> async::Task<bool> {
    bool closed = co_await stream->closed.Wait();
    co_return closed;
  };
  EXPECT_TRUE(rig.Run(waits(stream)));
}

TEST_F(HttpTest, ASlowReaderHoldsTheProducerBack) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  const std::string piece(200u << 10, 'z');
  rig.Do([&] {
    for (int i = 0; i < 60; ++i) handler.stream->Feed(piece);
    handler.stream->End();
  });
  std::this_thread::sleep_for(100ms);
  size_t total = 0;
  for (;;) {
    auto read = ReadPiece(response->stream);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_LT(read->size(), 2u << 20);
    if (read->empty()) break;
    total += read->size();
  }
  EXPECT_EQ(total, 60 * piece.size());
}

TEST_F(HttpTest, RefusesWhatIsTooLarge) {
  Serve({.max_head = 4096, .max_body = 1000});
  EXPECT_EQ(Send({.method = "POST", .target = "/echo", .body = std::string(1000, 'a')})->status, 200);
  auto large = Send({.method = "POST", .target = "/echo", .body = std::string(1u << 20, 'a')});
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->status, 413);
  EXPECT_NE(large->body.find(R"("kind":"Status")"), std::string::npos);
  EXPECT_NE(large->body.find("larger than 1000 bytes"), std::string::npos);
  EXPECT_EQ(Send({.target = "/echo", .headers = {{"X-Long", std::string(8000, 'h')}}})->status, 431);
  const std::string chunked = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                              std::string(1001, 'c') + "\r\n0\r\n\r\n";
  EXPECT_EQ(Raw(socket_path, chunked).substr(0, 12), "HTTP/1.1 413");
}

TEST_F(HttpTest, RefusesRequestsThatCanBeReadInTwoWays) {
  Serve();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  for (const std::string& bad :
       {head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        head + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", head + "Content-Length: -1\r\n\r\n",
        head + "Content-Length: 3, 3\r\n\r\nabc", head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        head + "Transfer-Encoding: identity\r\n\r\n", head + "Host: y\r\n\r\n",
        std::string("GET /echo HTTP/1.1\r\n\r\n"),
        std::string("GET http://x/echo HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET /echo HTTP/2.0\r\nHost: x\r\n\r\n"),
        std::string("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"), head + "A b: c\r\n\r\n", head + "A : c\r\n\r\n",
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n")}) {
    EXPECT_EQ(Raw(socket_path, bad).substr(0, 12), "HTTP/1.1 400") << bad;
  }
  EXPECT_EQ(handler.requests, 0);
}

TEST_F(HttpTest, ReadsPipelinedChunkedAndOldRequests) {
  Serve();
  const std::string two =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecond";
  const std::string answer = Raw(socket_path, two);
  EXPECT_NE(answer.find("\r\n\r\nabcde"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("second")) << answer;
  EXPECT_NE(Raw(socket_path, "GET /close HTTP/1.1\r\nHost: x\r\n\r\n").find("Connection: close"),
            std::string::npos);
  EXPECT_TRUE(Raw(socket_path, "GET /echo HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
}

TEST_F(HttpTest, AnswersExpectContinue) {
  Serve();
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_TRUE(Raw(socket_path, head, "\r\n\r\n").starts_with("HTTP/1.1 100 Continue\r\n\r\n"));
  const std::string broken =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\nzz\r\n";
  const std::string answer = Raw(socket_path, broken);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 ")) << answer;
}

TEST_F(HttpTest, SlowSendersAreCutOff) {
  Serve({.head_timeout = 200ms, .idle_timeout = 400ms});
  EXPECT_EQ(Raw(socket_path, "GET /echo HTTP/1.1\r\nHos").substr(0, 12), "HTTP/1.1 408");
  EXPECT_EQ(Raw(socket_path, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc").substr(0, 12),
            "HTTP/1.1 408");
  EXPECT_EQ(Raw(socket_path, ""), "");  // idle: closed without a word
}

TEST_F(HttpTest, HeaderFieldsOfAHandlerCannotBreakOut) {
  Serve();
  auto response = Get("/injected");
  ASSERT_TRUE(response);
  EXPECT_FALSE(response->headers.Has("X-Evil"));
  EXPECT_FALSE(response->headers.Has("X-Bad"));
  EXPECT_EQ(Send({.target = "/echo", .headers = {{"X", "a\r\nY: b"}}}).error().code, Code::kInvalid);
  EXPECT_EQ(Get("/a b").error().code, Code::kInvalid);
  EXPECT_EQ(Get("/a\r\nX: y").error().code, Code::kInvalid);
  EXPECT_EQ(Send({.method = "GET /x"}).error().code, Code::kInvalid);
}

TEST_F(HttpTest, AHalfClosedClientGetsItsAnswerAndALeavingOneDisturbsNobody) {
  Serve();
  const std::string late =
      Raw(socket_path, "GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {}, true);
  EXPECT_TRUE(late.ends_with("late")) << late;
  EXPECT_EQ(Get("/never", {.timeout = 50ms}).error().code, Code::kTimeout);
  EXPECT_TRUE(Get("/echo"));
}

TEST_F(HttpTest, TakenPortsAndSocketsAreNamed) {
  Serve();
  const auto port = server->server->Listen({.name = "a", .address = "127.0.0.1"});
  ASSERT_TRUE(port);
  const auto again = server->server->Listen({.name = "b", .address = "127.0.0.1", .port = *port});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_NE(again.error().message.find("port " + std::to_string(*port) + " on 127.0.0.1 is taken"),
            std::string::npos);
  EXPECT_EQ(server->server->Listen({.name = "c", .unix_path = socket_path}).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(server->server->Listen({.name = "d", .unix_path = dir.path() + "/" + std::string(120, 'x')})
                .error()
                .code,
            Code::kInvalid);
  EXPECT_EQ(server->server->Listen({.name = "e", .address = "localhost"}).error().code, Code::kInvalid);
  EXPECT_EQ(server->server->Listen({.name = "f", .unix_path = dir.path()}).error().code,
            Code::kAlreadyExists);
}

TEST_F(HttpTest, AStaleSocketIsReplacedAndOursRemovedAtTheEnd) {
  const std::string path = dir.path() + "/s.sock";
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  Serve();
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_TRUE(Get("/echo"));
  server->Stop();
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

TEST_F(HttpTest, FurtherConnectionsWaitInsteadOfBeingRefused) {
  Serve({.max_connections = 2});
  const auto late = server->server->Listen({.name = "late", .address = "127.0.0.1"});
  ASSERT_TRUE(late);
  for (int i = 0; i < 16; ++i) {
    const Endpoint tcp{.host = "127.0.0.1", .port = *late};
    Client other(rig.io, rig.loop, i % 2 ? tcp : Endpoint{.unix_path = socket_path});
    auto response = rig.Run(other.Send({.target = "/echo"}, {}));
    EXPECT_TRUE(response) << response.error().message;
  }
}

TEST_F(HttpTest, NothingListeningIsUnavailable) {
  Serve();
  Client nobody(rig.io, rig.loop, {.unix_path = dir.path() + "/none"});
  const auto error = rig.Run(nobody.Send({}, {})).error();
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_NE(error.message.find("/none"), std::string::npos);
}

TEST_F(HttpTest, StopEndsRunningHandlersAndStreams) {
  Serve();
  auto response = Get("/stream", {.stream = true});
  auto never = [](Client& client) -> async::Task<void> {
    Result<Response> ignored = co_await client.Send({.target = "/never"}, {});
  };
  rig.Spawn(never(*client));
  std::this_thread::sleep_for(50ms);
  auto stream = handler.stream;
  server->Stop();
  EXPECT_TRUE(stream->is_closed);
  EXPECT_FALSE(ReadPiece(response->stream));
}

}  // namespace
}  // namespace cubeplane::http
