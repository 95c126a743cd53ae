#include "apiserver/limits.h"

#include <algorithm>
#include <vector>

namespace cubeplane::apiserver {

void RequestRate::Forget(Mono now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    const std::chrono::duration<double> idle = now - entry.second.at;
    return entry.second.left + idle.count() * settings_.per_second >= settings_.burst;
  });
  // All of them busy: forgetting one only gives it its burst back.
  if (buckets_.size() >= settings_.max_principals) buckets_.erase(buckets_.begin());
}

Result<void> RequestRate::Take(std::string_view principal, Mono now) {
  auto found = buckets_.find(principal);
  if (found == buckets_.end()) {
    if (buckets_.size() >= settings_.max_principals) Forget(now);
    found = buckets_.emplace(std::string(principal), Bucket{static_cast<double>(settings_.burst), now}).first;
  }
  Bucket& bucket = found->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.left = std::min<double>(settings_.burst, bucket.left + passed.count() * settings_.per_second);
  bucket.at = now;
  if (bucket.left < 1) {
    return Fail(Error(Code::kTooMany, "too_many_requests", {{"seconds", "1"}}, "too many requests"));
  }
  bucket.left -= 1;
  return {};
}

Result<size_t> Streams::Add(std::string_view user, std::string_view credential, std::function<void()> close) {
  const auto of_user =
      std::ranges::count_if(streams_, [&](const auto& entry) { return entry.second.user == user; });
  if (static_cast<size_t>(of_user) >= settings_.per_user || streams_.size() >= settings_.all) {
    return Fail(Error(Code::kTooMany, "too_many_streams", {{"limit", std::to_string(settings_.per_user)}},
                      "too many watches and followed logs are open"));
  }
  const size_t id = next_++;
  streams_.emplace(id, Stream{std::string(user), std::string(credential), std::move(close)});
  return id;
}

void Streams::Remove(size_t id) { streams_.erase(id); }

void Streams::CloseWhere(const std::function<bool(const Stream&)>& which) {
  // Closing one removes it from the map: take the callbacks out first.
  std::vector<std::function<void()>> closing;
  for (const auto& [id, stream] : streams_) {
    if (which(stream)) closing.push_back(stream.close);
  }
  for (const auto& close : closing) close();
}

void Streams::CloseCredential(std::string_view credential) {
  CloseWhere([&](const Stream& stream) { return stream.credential == credential; });
}
void Streams::CloseUser(std::string_view user) {
  CloseWhere([&](const Stream& stream) { return stream.user == user; });
}
void Streams::CloseAll() {
  CloseWhere([](const Stream&) { return true; });
}

}  // namespace cubeplane::apiserver
