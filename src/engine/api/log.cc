// The handler's `log` subresource.
#include <algorithm>

#include "engine/api/handler.h"
#include "engine/api/log_stream.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

Answer<LogOptions> ReadLogOptions(const ApiRequest& request, Time now) {
  LogOptions options;
  options.follow = request.Flag("follow");
  options.timestamps = request.Flag("timestamps");
  if (request.Flag("previous"))
    return Refuse(
        BadRequest("previous terminated container: the embedded engine keeps one log over all restarts; "
                   "leave `previous` out"));
  ASSIGN_OR_RETURN(const int64_t tail, request.Number("tailLines", -1));
  if (tail >= 0) options.tail_lines = tail;
  ASSIGN_OR_RETURN(const int64_t limit, request.Number("limitBytes", -1));
  if (limit == 0)
    return Refuse({422, "Invalid",
                   "PodLogOptions \"\" is invalid: limitBytes: Invalid value: 0: must be greater than 0"});
  if (limit > 0) options.limit_bytes = limit;
  ASSIGN_OR_RETURN(const int64_t seconds, request.Number("sinceSeconds", -1));
  if (seconds >= 0) options.since = now - std::chrono::seconds(std::min<int64_t>(seconds, 1'000'000'000));
  if (const std::string& since = request.Query("sinceTime"); !since.empty()) {
    options.since = ParseTime(since);
    if (!options.since) return Refuse(BadRequest("sinceTime: found \"" + since + "\", allowed is RFC 3339"));
  }
  return options;
}

}  // namespace

Answer<http::Response> ApiHandler::Log(const ApiRequest& request) {
  ASSIGN_OR_RETURN(const ObjectPtr pod, registry_.Get(*request.kind, request.namespace_name, request.name));
  ASSIGN_OR_RETURN(const LogOptions options, ReadLogOptions(request, cluster_.clock.Now()));
  const std::string& container = (*pod)["spec"].At("containers.0.name").AsString();
  const std::string& asked = request.Query("container");
  if (!asked.empty() && asked != container)
    return Refuse(BadRequest("container " + asked + " is not valid for pod " + request.name));
  const json::Value& state = (*pod)["status"].At("containerStatuses.0");
  const bool began = state["state"].Contains("running") || state["state"].Contains("terminated") ||
                     state["restartCount"].AsInt() > 0;
  if (!began && !options.follow) {
    const std::string& reason = state["state"]["waiting"]["reason"].AsString();
    return Refuse(BadRequest("container \"" + container + "\" in pod \"" + request.name +
                             "\" is waiting to start: " + (reason.empty() ? "ContainerCreating" : reason)));
  }
  const auto ended = [store = store_, key = KeyOf(*request.kind, *pod), uid = UidOf(*pod)] {
    const ObjectPtr now = store->closed() ? nullptr : store->Get(key);
    return !now || UidOf(*now) != uid || IsTerminalPhase(PhaseOf(*now));
  };
  http::Response response;
  response.headers.Set("Content-Type", "text/plain");
  response.stream = MakeLog(executor_, runtime_.LogPath(UidOf(*pod)), options, ended);
  return response;
}

}  // namespace cubeplane::engine
