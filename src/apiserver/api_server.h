// The API: what stands in api/openapi.yaml, and the pages for signing in.
//
// Each request goes the same way: find the operation, find out who asks, count it, check the right, read body
// and query, call the handler, render the answer (errors as `Status` in the asked language). A request for an
// operation without a row in auth/roles.h is refused.
//
// Threading: on the control thread. Lifetime: the parts outlive it; Stop before they go.
#pragma once

#include "apiserver/context.h"
#include "http/message.h"

namespace cubeplane::apiserver {

class ApiServer final : public http::Handler {
 public:
  ApiServer(Parts parts, Settings settings);

  async::Task<http::Response> Handle(http::Request request) override;
  // Ends all watches and followed logs. Requests under way end by themselves.
  void Stop() { streams_.CloseAll(); }

 private:
  Result<void> FindRoute(Context& context) const;
  async::Task<Result<void>> Authenticate(Context& context);
  async::Task<Result<void>> AuthenticateBearer(Context& context, std::string_view header);
  async::Task<Answer> Dispatch(Context& context);
  void Count(const Context& context, const http::Response& response, Mono began);

  metrics::Registry own_metrics_;
  Parts parts_;
  const Settings settings_;
  RequestRate rate_;
  Streams streams_;
  const Mono started_;
};

}  // namespace cubeplane::apiserver
