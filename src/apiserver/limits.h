// Named bounds of the API server, and the two that are counted per principal: requests and open streams.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace cubeplane::apiserver {

inline constexpr size_t kMaxBody = 2u << 20;
inline constexpr size_t kMaxArchive = 700u << 10;  // decision 21
inline constexpr size_t kMaxPage = 500;
inline constexpr size_t kMaxEvents = 500;
inline constexpr size_t kMaxQuery = 8u << 10;

// A bucket of requests per principal. Threading: on the control thread.
class RequestRate {
 public:
  struct Settings {
    int burst = 400;
    int per_second = 200;
    size_t max_principals = 10'000;  // remembered; beyond that the fullest buckets are forgotten
  };
  explicit RequestRate(Settings settings) : settings_(settings) {}
  // kTooMany when the bucket is empty.
  Result<void> Take(std::string_view principal, Mono now);

 private:
  struct Bucket {
    double left;
    Mono at;
  };
  void Forget(Mono now);

  const Settings settings_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

// Open watches and followed logs: bounded per user, and closed when the right to see them ends.
class Streams {
 public:
  struct Settings {
    size_t per_user = 32;
    size_t all = 2000;
  };
  explicit Streams(Settings settings) : settings_(settings) {}
  // Gives an id to Remove with; `close` must end the stream and may be called at any time until then.
  Result<size_t> Add(std::string_view user, std::string_view credential, std::function<void()> close);
  void Remove(size_t id);
  // Those of a session or token that has ended; all of a user; all.
  void CloseCredential(std::string_view credential);
  void CloseUser(std::string_view user);
  void CloseAll();
  size_t open() const { return streams_.size(); }

 private:
  struct Stream {
    std::string user, credential;
    std::function<void()> close;
  };
  void CloseWhere(const std::function<bool(const Stream&)>& which);

  const Settings settings_;
  std::map<size_t, Stream> streams_;
  size_t next_ = 1;
};

}  // namespace cubeplane::apiserver
