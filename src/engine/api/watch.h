// A watch: the history of the store as a stream of JSON lines.
#pragma once

#include <memory>
#include <string>

#include "async/executor.h"
#include "base/clock.h"
#include "engine/selectors.h"
#include "http/message.h"

namespace cubeplane::engine {

// What a list or a watch is about.
struct Scope {
  const Kind* kind = nullptr;
  std::string namespace_name;  // "" for all
  LabelSelector labels;
  FieldSelector fields;
  bool Covers(const json::Value& object) const { return labels.Matches(object) && fields.Matches(object); }
};

struct WatchOptions {
  int64_t revision = 0;  // events after it; 0: first all objects as ADDED, then what follows
  bool bookmarks = false;
  Duration timeout{};  // the stream ends cleanly after it
};

inline constexpr Duration kBookmarkEvery = std::chrono::seconds(60);
inline constexpr size_t kMaxWatchPiece = 256 << 10;  // bytes of one Read, but at least one event

// Threading: the control thread. The stream keeps the store alive; it holds no events itself: a slow reader
// that falls behind the history gets one ERROR event (410) and the end.
std::shared_ptr<http::BodyStream> MakeWatch(std::shared_ptr<Store> store, async::Executor& executor,
                                            Scope scope, const WatchOptions& options);

}  // namespace cubeplane::engine
