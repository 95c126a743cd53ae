#include "sim/fault_transport.h"

namespace cubeplane::sim {
namespace {

// A stream that a broken connection may end at any piece.
class CutStream final : public http::BodyStream {
 public:
  CutStream(std::shared_ptr<http::BodyStream> inner, const FaultRates& rates, Random& random)
      : inner_(std::move(inner)), rates_(rates), random_(random) {}
  ~CutStream() override { inner_->Close(); }
  async::Task<Result<std::string>> Read() override {
    if (rates_.cut_stream > 0 && random_.Below(1000) < rates_.cut_stream) {
      inner_->Close();
      co_return Fail(Code::kUnavailable, "the connection was cut");
    }
    Result<std::string> piece = co_await inner_->Read();
    co_return piece;
  }
  void Close() override { inner_->Close(); }

 private:
  std::shared_ptr<http::BodyStream> inner_;
  const FaultRates& rates_;
  Random& random_;
};

http::Response StatusAnswer(int code, std::string reason) {
  http::Response response;
  response.status = code;
  response.headers.Set("Content-Type", "application/json");
  response.body =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"made by the simulation","reason":")" +
      reason + R"(","code":)" + std::to_string(code) + "}";
  return response;
}

}  // namespace

async::Task<Result<http::Response>> FaultTransport::Send(http::Request request, http::SendOptions options) {
  if (Happens(rates_.refused)) co_return Fail(Code::kUnavailable, "connection refused");
  if (Happens(rates_.busy)) co_return StatusAnswer(429, "TooManyRequests");
  if (Happens(rates_.broken)) co_return StatusAnswer(500, "InternalError");
  const bool lost = Happens(rates_.lost_answer);
  Result<http::Response> response = co_await inner_.Send(std::move(request), options);
  if (lost) co_return Fail(Code::kTimeout, "no answer in time");
  if (response && response->stream) {
    response->stream = std::make_shared<CutStream>(response->stream, rates_, random_);
  }
  co_return response;
}

}  // namespace cubeplane::sim
