// A typed-by-hand REST client for a Kubernetes API server: requests in, JSON values or errors out. No cache,
// no retry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/result.h"
#include "http/transport.h"
#include "json/value.h"
#include "kube/resource.h"

namespace cubeplane::kube {

struct ListOptions {
  std::string label_selector, field_selector, resource_version;
  int limit = 500;
  std::string continue_token;
};
struct ListPage {
  std::vector<json::Value> items;  // each with apiVersion and kind filled in
  std::string resource_version, continue_token;
};
struct WriteOptions {
  bool dry_run = false;
  std::string field_manager = "cubeplane";
};
struct DeleteOptions {
  std::string uid;  // precondition; empty: none
  std::optional<int64_t> grace_seconds;
  std::string propagation;  // "Background", "Foreground", "Orphan"; empty: the server's default
};
enum class PatchType { kMerge, kStrategicMerge, kJson, kApply };

struct WatchOptions {
  std::string label_selector, field_selector, resource_version;
  int64_t timeout_seconds = 300;
};
struct WatchEvent {
  std::string type;  // ADDED, MODIFIED, DELETED, BOOKMARK
  json::Value object;
};
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  // The next event; nullopt when the server ended the watch. An ERROR event is an error (kGone for 410).
  virtual async::Task<Result<std::optional<WatchEvent>>> Next() = 0;
  virtual void Close() = 0;
};

struct LogOptions {
  bool follow = false, timestamps = false, previous = false;
  std::optional<int64_t> tail_lines, limit_bytes;
  std::string container, since_time;
};

// Threading: on the control thread. Lifetime: the transport outlives it. Errors: those of the transport, and
// the server's Status as an Error (code from HTTP status and reason, its message, details.causes as fields).
class Client {
 public:
  // `bearer_token` is asked before each request; an empty token sends none.
  Client(http::Transport& transport, std::function<std::string()> bearer_token);

  async::Task<Result<json::Value>> Get(Resource resource, std::string name_space, std::string name);
  // One page. An empty namespace lists all.
  async::Task<Result<ListPage>> List(Resource resource, std::string name_space, ListOptions options = {});
  // All pages of one snapshot; starts over on 410, at most three times.
  async::Task<Result<ListPage>> ListAll(Resource resource, std::string name_space, ListOptions options = {});
  async::Task<Result<json::Value>> Create(Resource resource, std::string name_space, json::Value object,
                                          WriteOptions options = {});
  async::Task<Result<json::Value>> Update(Resource resource, std::string name_space, json::Value object,
                                          WriteOptions options = {});
  async::Task<Result<json::Value>> UpdateStatus(Resource resource, std::string name_space, json::Value object,
                                                WriteOptions options = {});
  async::Task<Result<json::Value>> Patch(Resource resource, std::string name_space, std::string name,
                                         PatchType type, json::Value patch, std::string subresource = "",
                                         WriteOptions options = {});
  async::Task<Result<json::Value>> Delete(Resource resource, std::string name_space, std::string name,
                                          DeleteOptions options = {});
  async::Task<Result<std::unique_ptr<WatchStream>>> Watch(Resource resource, std::string name_space,
                                                          WatchOptions options = {});
  // The log as a streamed response (status 200), or an error.
  async::Task<Result<http::Response>> PodLog(std::string name_space, std::string pod,
                                             LogOptions options = {});

 private:
  async::Task<Result<json::Value>> Exchange(http::Request request);
  // An answer of status 200 with its body as a stream, or the error that it is.
  async::Task<Result<http::Response>> OpenStream(http::Request request);
  http::Request Make(std::string method, std::string target, const json::Value* body,
                     std::string content_type);

  http::Transport& transport_;
  std::function<std::string()> bearer_token_;
};

// The Error that a non-2xx answer stands for.
Error ErrorOf(const http::Response& response);

}  // namespace cubeplane::kube
