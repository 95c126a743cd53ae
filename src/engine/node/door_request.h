// What the door does to one HTTP request: check and strip the secret, and know where the request ends.
//
// Pure values; no socket here. One connection carries one request: the head is rewritten to `Connection:
// close`, and bytes behind the request's body are never forwarded, so that nothing reaches the payload
// without a check of its own secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cubeplane::engine::node {

inline constexpr size_t kMaxHeadBytes = 64u << 10;
inline constexpr std::string_view kDoorHeader = "x-cubeplane-door";

enum class BodyKind {
  kNone,
  kLength,
  kChunked,
  kTunnel
};  // kTunnel: an upgrade (WebSocket), both ways until the end

struct CheckedHead {
  std::string forward;  // the head as the payload gets it
  BodyKind body = BodyKind::kNone;
  int64_t length = 0;  // kLength
};

// `head` ends with the empty line. kForbidden: the secret is absent, wrong or there twice. kBadRequest:
// anything that two servers could read differently (folded lines, bare CR, two lengths, length beside chunks,
// blanks before a colon).
Result<CheckedHead> CheckHead(std::string_view head, std::string_view secret);

// Counts a request's body.
class BodyMeter {
 public:
  explicit BodyMeter(const CheckedHead& head);
  // How many of `bytes` belong to the request; with damaged chunks, those before the damage (and the body is
  // done).
  size_t Take(std::string_view bytes);
  bool done() const { return done_; }

 private:
  size_t TakeChunked(std::string_view bytes);
  BodyKind kind_;
  int64_t left_ = 0;
  bool done_ = false;
  enum class Part { kSize, kData, kDataEnd, kTrailer } part_ = Part::kSize;
  std::string line_;
};

}  // namespace cubeplane::engine::node
