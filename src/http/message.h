// HTTP messages as values, without the network.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "base/result.h"

namespace cubeplane::http {

// Header fields in order; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}
  // The first field of that name; "" when absent.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  size_t Count(std::string_view name) const;
  void Set(std::string_view name, std::string value);  // replaces all of that name
  void Add(std::string_view name, std::string value);
  void Remove(std::string_view name);
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// Who is at the other end of the connection.
struct Peer {
  std::string listener;              // the name given to the listener: "api", "platform", "engine", "test"
  std::optional<unsigned> unix_uid;  // SO_PEERCRED, for Unix sockets
  std::string address;               // "127.0.0.1:41234", "" for Unix sockets
  std::string tls_name;              // common name of a verified client certificate, "" without one
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, as received (percent-encoded)
  Headers headers;
  std::string body;
  Peer peer;

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  std::string_view query() const;
};

// A body that comes piece by piece. Owned by one reader.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // The next piece; an empty one is the end. Errors end the stream. One Read at a time.
  virtual async::Task<Result<std::string>> Read() = 0;
  // Wakes a pending Read with kCancelled and lets the producer go. Idempotent.
  virtual void Close() = 0;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;                    // when stream is null
  std::shared_ptr<BodyStream> stream;  // instead of body
};

// Answers requests: implemented by the API server, the engine and test doubles. Handle runs on the control
// thread and may suspend; many calls may be under way at once.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual async::Task<Response> Handle(Request request) = 0;
};

// `%41` -> `A`; nullopt for malformed or NUL.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_blank = false);
// Encodes everything but unreserved characters (RFC 3986).
std::string PercentEncode(std::string_view text);
// The decoded pairs of a query or a form; nullopt when malformed.
std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

}  // namespace cubeplane::http
