#include <gtest/gtest.h>

#include "http/client.h"
#include "http/server.h"
#include "http/testing/certs.h"
#include "http/testing/rig.h"

namespace cubeplane::http {
namespace {

using testing::KeyPair;
using testing::MakeCert;
using testing::Rig;
using testing::RigServer;

// Says who asked, and streams a large body in pieces.
class WhoHandler final : public Handler {
 public:
  async::Task<Response> Handle(Request request) override {
    Response response;
    response.headers.Set("X-Peer", request.peer.tls_name);
    response.body = request.body + std::string(request.path() == "/big" ? 1u << 20 : 0, 'b');
    co_return response;
  }
};

class TlsTest : public ::testing::Test {
 protected:
  Result<uint16_t> Listen(const KeyPair& pair, const std::string& client_ca = "",
                          const char* address = "127.0.0.1") {
    const auto port = server.server->Listen({.name = "tls",
                                             .address = address,
                                             .tls_cert_pem = pair.cert_pem,
                                             .tls_key_pem = pair.key_pem,
                                             .tls_client_ca_pem = client_ca});
    server.server->Start();
    return port;
  }
  Result<Response> Ask(Endpoint endpoint, Request request = {}) {
    endpoint.tls = true;
    if (endpoint.host.empty()) endpoint.host = "127.0.0.1";
    Client client(rig.io, rig.loop, std::move(endpoint));
    Result<Response> first = rig.Run(client.Send(request, {}));
    if (!first) return first;
    return rig.Run(client.Send(std::move(request), {}));  // over the kept connection
  }

  Rig rig;
  WhoHandler handler;
  RigServer server{rig, handler};
  const KeyPair ca = MakeCert("test ca", nullptr, "");
  const KeyPair other_ca = MakeCert("other ca", nullptr, "");
  const KeyPair good = MakeCert("server", &ca, "IP:127.0.0.1,DNS:cluster.example");
};

TEST_F(TlsTest, ExchangesWithAVerifiedServer) {
  const auto port = Listen(good);
  ASSERT_TRUE(port) << port.error().message;
  auto response = Ask({.port = *port, .ca_pem = ca.cert_pem},
                      {.method = "POST", .target = "/big", .body = std::string(1u << 20, 'a')});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body.size(), 2u << 20);
  EXPECT_EQ(response->headers.Get("X-Peer"), "");
  EXPECT_TRUE(Ask({.port = *port, .ca_pem = ca.cert_pem, .server_name = "cluster.example"}));
}

TEST_F(TlsTest, RefusesWrongCaWrongNameAndExpired) {
  const auto port = Listen(good);
  for (const Endpoint& bad : {Endpoint{.port = *port, .ca_pem = other_ca.cert_pem}, Endpoint{.port = *port},
                              Endpoint{.port = *port, .ca_pem = ca.cert_pem, .server_name = "else.example"},
                              Endpoint{.port = *port, .ca_pem = ca.cert_pem, .server_name = "127.0.0.2"}}) {
    auto refused = Ask(bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable) << refused.error().message;
    EXPECT_NE(refused.error().message.find("verify failed"), std::string::npos) << refused.error().message;
  }
  RigServer second(rig, handler);
  const KeyPair old = MakeCert("server", &ca, "IP:127.0.0.1", -1);
  const auto old_port = second.server->Listen(
      {.address = "127.0.0.1", .tls_cert_pem = old.cert_pem, .tls_key_pem = old.key_pem});
  second.server->Start();
  EXPECT_FALSE(Ask({.port = *old_port, .ca_pem = ca.cert_pem}));
}

TEST_F(TlsTest, ClientCertificatesAreVerifiedAndNamed) {
  const auto port = Listen(good, ca.cert_pem);
  const KeyPair mine = MakeCert("dispatcher", &ca, "");
  const KeyPair foreign = MakeCert("dispatcher", &other_ca, "");
  auto known = Ask({.port = *port,
                    .ca_pem = ca.cert_pem,
                    .client_cert_pem = mine.cert_pem,
                    .client_key_pem = mine.key_pem});
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->headers.Get("X-Peer"), "dispatcher");
  auto nobody = Ask({.port = *port, .ca_pem = ca.cert_pem});
  ASSERT_TRUE(nobody) << nobody.error().message;
  EXPECT_EQ(nobody->headers.Get("X-Peer"), "");
  EXPECT_FALSE(Ask({.port = *port,
                    .ca_pem = ca.cert_pem,
                    .client_cert_pem = foreign.cert_pem,
                    .client_key_pem = foreign.key_pem}));
}

TEST_F(TlsTest, MalformedPemIsSaid) {
  EXPECT_EQ(Listen({"no pem", "no key"}).error().code, Code::kInvalid);
  EXPECT_EQ(Ask({.port = 1, .ca_pem = "no pem"}).error().code, Code::kInvalid);
  EXPECT_EQ(Listen({good.cert_pem, ca.key_pem}).error().code, Code::kInvalid);
}

TEST_F(TlsTest, PlainTalkToATlsPortIsNotAnswered) {
  const auto port = Listen(good);
  Client plain(rig.io, rig.loop, {.host = "127.0.0.1", .port = *port});
  EXPECT_FALSE(rig.Run(plain.Send({}, {})));
}

}  // namespace
}  // namespace cubeplane::http
