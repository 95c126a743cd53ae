// What a handler is given: the parts it may use, the request, and who asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/limits.h"
#include "apiserver/logs.h"
#include "async/executor.h"
#include "async/task.h"
#include "auth/auth.h"
#include "auth/roles.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "http/message.h"
#include "metrics/metrics.h"
#include "model/objects.h"
#include "model/reasons.h"
#include "state/entry.h"
#include "state/ledger.h"
#include "storage/store.h"

namespace cubeplane::apiserver {

struct Settings {
  std::string domain = "localhost";            // workload origins are below it
  std::string api_listener = "api";            // the Unix socket of the machine's own people
  std::string platform_listener = "platform";  // behind the gateway
  std::optional<unsigned> operator_uid;        // besides root: on the API's socket without a token
  std::string operator_user = "admin";
  std::string version = "0.1.0", commit, hostname;
  Duration max_watch = std::chrono::hours(1);
  Duration bookmark_every = std::chrono::seconds(10);
  RequestRate::Settings rate;
  Streams::Settings streams;
};

// Everything outlives the API server.
struct Parts {
  state::Ledger& ledger;
  storage::Store& store;
  auth::Auth& auth;
  state::Entry& entry;
  LogSource& logs;
  EventSource& events;
  async::Executor& executor;
  const Clock& clock;
  Random& random;
  metrics::Registry* metrics = nullptr;  // null: one of the server's own
};

struct Route;

// One request on its way. Lives in the frame of ApiServer::Handle.
struct Context {
  Parts& parts;
  const Settings& settings;
  Streams& streams;
  Mono started;  // of the server, for its uptime

  http::Request request;
  std::string request_id;
  model::Language language = model::Language::kEn;
  const Route* route = nullptr;
  std::vector<std::pair<std::string, std::string>> params;  // of the path
  std::vector<std::pair<std::string, std::string>> query;
  std::optional<auth::Principal> principal;  // absent: not signed in
  auth::Standing standing = auth::Standing::kAnyone;
  auth::Grant grant = auth::Grant::kNo;

  std::string Param(std::string_view name) const;  // "" when absent
  std::string Query(std::string_view name) const;
  bool HasQuery(std::string_view name) const;
  const std::string& user() const;  // "" when nobody is signed in
  Time now() const { return parts.clock.Now(); }
};

using Answer = Result<http::Response>;
using Handler = async::Task<Answer> (*)(Context&);

enum class BodyKind : uint8_t { kNone, kJson, kObject, kForm, kArchive };

struct Route {
  std::string_view method, path, operation;
  Handler handler;
  BodyKind body = BodyKind::kNone;
  std::vector<std::string_view> query;      // parameters it knows; others are refused
  std::optional<model::WorkloadKind> kind;  // of workload routes
  bool on_origin = false;                   // served on workload origins, and only there
  bool page = false;                        // for people: errors are pages
  std::vector<std::string_view> segments;   // of `path`
};

// All operations of api/openapi.yaml.
const std::vector<Route>& Routes();
// The parts between the slashes; the path begins with one.
std::vector<std::string_view> SplitPath(std::string_view path);

// ---- Small helpers of the handlers

http::Response JsonResponse(int status, const json::Value& value);
// One object, with its ETag.
http::Response ObjectResponse(int status, const json::Value& object);
// A parameter "1", "true", "0", "false"; kBadRequest otherwise.
Result<bool> BoolQuery(const Context& context, std::string_view name);
Result<std::optional<int64_t>> IntQuery(const Context& context, std::string_view name, int64_t min,
                                        int64_t max);
// Who asks and how the answer is remembered; kBadRequest for bad dryRun or Idempotency-Key.
Result<state::Call> CallOf(const Context& context);
// An audit record of something that is not the ledger's own change.
async::Task<Result<void>> Audit(Context& context, std::string action, std::string object, json::Value after);
// The body by its content type: 415, 400 with line and column.
Result<json::Value> ReadBody(const Context& context);
// If-Match and metadata.resourceVersion of the body: the same number when both are there.
Result<std::optional<int64_t>> ExpectedVersion(const Context& context, const json::Value& body);

// An error of one field of the request.
Error BadField(Code code, std::string path, std::string found, std::string allowed);
Error ProjectNotFound(std::string_view project);
Error WorkloadNotFound(model::WorkloadKind kind, std::string_view project, std::string_view name);

// The caller's standing in a project; kUser when it is none of theirs, or is not there.
auth::Standing StandingIn(const Context& context, std::string_view project);
// May the caller do `operation` on this? The one place where rights are decided. kUnauthenticated,
// kForbidden, or kNotFound for strangers of a project. Sets the context's standing and grant.
struct Target {
  std::string project, user;
  std::optional<model::WorkloadKind> kind;
  std::string name;
};
Result<void> Authorize(Context& context, std::string_view operation, const Target& target);

}  // namespace cubeplane::apiserver
