// The engine's API as a http::Handler: authenticates, authorizes, and answers each verb.
//
// Threading: the control thread only. Lifetime: outlives no part it was given; streams it has handed out keep
// what they need by themselves.
#pragma once

#include <memory>

#include "async/executor.h"
#include "engine/api/auth.h"
#include "engine/api/registry.h"
#include "engine/api/watch.h"
#include "engine/runtime.h"
#include "http/message.h"

namespace cubeplane::engine {

inline constexpr int64_t kMaxPage = 10'000;  // objects of one list answer when the client gives a limit
inline constexpr size_t kMaxWatches = 1'000;

class ApiHandler final : public http::Handler {
 public:
  ApiHandler(std::shared_ptr<Store> store, const Cluster& cluster, Registry& registry,
             async::Executor& executor, Runtime& runtime, const std::vector<Credential>& credentials);
  async::Task<http::Response> Handle(http::Request request) override;

 private:
  http::Response Respond(const http::Request& request);
  Answer<http::Response> Dispatch(const http::Request& raw, const ApiRequest& request);
  Answer<http::Response> Get(const ApiRequest& request);
  Answer<http::Response> List(const ApiRequest& request);
  Answer<http::Response> Watch(const ApiRequest& request);
  Answer<http::Response> Log(const ApiRequest& request);
  Answer<http::Response> Create(const http::Request& raw, const ApiRequest& request);
  Answer<http::Response> Update(const http::Request& raw, const ApiRequest& request);
  Answer<http::Response> Patch(const http::Request& raw, const ApiRequest& request);
  Answer<http::Response> Delete(const http::Request& raw, const ApiRequest& request);
  Answer<http::Response> DeleteCollection(const http::Request& raw, const ApiRequest& request);
  Answer<Scope> ReadScope(const ApiRequest& request) const;

  const std::shared_ptr<Store> store_;
  const Cluster& cluster_;
  Registry& registry_;
  async::Executor& executor_;
  Runtime& runtime_;
  const Authenticator authenticator_;
  std::vector<std::weak_ptr<http::BodyStream>> watches_;  // the open ones, for the bound
};

}  // namespace cubeplane::engine
