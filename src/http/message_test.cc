#include "http/message.h"

#include <gtest/gtest.h>

#include "http/status.h"
#include "http/testing/rig.h"
#include "http/transport.h"
#include "json/json.h"

namespace cubeplane::http {
namespace {

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers{{"Content-Type", "a"}, {"X", "1"}, {"x", "2"}};
  EXPECT_EQ(headers.Get("content-type"), "a");
  EXPECT_EQ(headers.Count("X"), 2u);
  headers.Set("x", "3");
  EXPECT_EQ(headers.Count("X"), 1u);
  EXPECT_EQ(headers.Get("X"), "3");
  headers.Remove("X");
  EXPECT_FALSE(headers.Has("x"));
}

TEST(Percent, DecodesWhatItEncodesAndRefusesTheRest) {
  const std::string text = "a b/\xE4\xB8\xAD?&=%+~-._";
  EXPECT_EQ(PercentDecode(PercentEncode(text)), text);
  EXPECT_EQ(PercentEncode("a/b c"), "a%2Fb%20c");
  for (const char* bad : {"%", "%4", "%zz", "%00", "a%0"}) EXPECT_FALSE(PercentDecode(bad)) << bad;
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
  EXPECT_EQ(PercentDecode("a+b", true), "a b");
}

TEST(Query, KeepsOrderAndRepeats) {
  const auto pairs = ParseQuery("a=1&b&a=x%3Dy&&c=+");
  ASSERT_TRUE(pairs);
  EXPECT_EQ(*pairs, (std::vector<std::pair<std::string, std::string>>{
                        {"a", "1"}, {"b", ""}, {"a", "x=y"}, {"c", " "}}));
  EXPECT_FALSE(ParseQuery("a=%"));
  EXPECT_EQ((Request{.target = "/x?y=1"}).query(), "y=1");
  EXPECT_EQ((Request{.target = "/x?y=1"}).path(), "/x");
}

TEST(ErrorResponse, HasTheShapeOfKubernetesStatus) {
  Error error(Code::kInvalid, "some_reason", {{"name", "x"}}, "bad \"thing\"");
  error.fields.push_back({.path = "spec.cpu", .found = "-1", .allowed = "a positive quantity"});
  const Response response = ErrorResponse(error);
  EXPECT_EQ(response.status, 422);
  const auto body = json::Parse(response.body);
  ASSERT_TRUE(body);
  EXPECT_EQ((*body)["kind"].AsString(), "Status");
  EXPECT_EQ((*body)["reason"].AsString(), "Invalid");
  EXPECT_EQ((*body)["code"].AsInt(), 422);
  EXPECT_EQ(body->At("details.causes.0.field").AsString(), "spec.cpu");
  EXPECT_EQ(body->At("details.params.name").AsString(), "x");
}

// Answers with a body of three pieces.
class PiecesHandler final : public Handler {
 public:
  class Pieces final : public BodyStream {
   public:
    async::Task<Result<std::string>> Read() override {
      co_return left_-- > 0 ? std::string("piece ") : std::string();
    }
    void Close() override {}

   private:
    int left_ = 3;
  };
  async::Task<Response> Handle(Request request) override {
    Response response;
    if (request.target == "/stream") response.stream = std::make_shared<Pieces>();
    response.body = "whole";
    co_return response;
  }
};

TEST(InProcess, GivesBodiesAndStreamsAsAsked) {
  testing::Rig rig;
  PiecesHandler handler;
  InProcessTransport transport(handler, {.listener = "x"});
  EXPECT_EQ(rig.Run(transport.Send({.target = "/"}, {}))->body, "whole");
  EXPECT_EQ(rig.Run(transport.Send({.target = "/stream"}, {}))->body, "piece piece piece ");
  EXPECT_EQ(rig.Run(transport.Send({.target = "/stream"}, {.max_body = 10})).error().code, Code::kTooLarge);
  auto streamed = rig.Run(transport.Send({.target = "/"}, {.stream = true}));
  EXPECT_EQ(rig.Run(streamed->stream->Read()).value(), "whole");
  EXPECT_EQ(rig.Run(streamed->stream->Read()).value(), "");
}

}  // namespace
}  // namespace cubeplane::http
