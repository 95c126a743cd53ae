#include "engine/api/watch.h"

#include <algorithm>
#include <deque>

#include "async/sync.h"
#include "engine/cluster.h"
#include "engine/status.h"
#include "json/json.h"

namespace cubeplane::engine {
namespace {

constexpr size_t kChangesAtOnce = 256;

std::string Line(std::string_view type, const json::Value& object) {
  return "{\"type\":\"" + std::string(type) + "\",\"object\":" + json::Write(object) + "}\n";
}

class Watch final : public http::BodyStream, public std::enable_shared_from_this<Watch> {
 public:
  Watch(std::shared_ptr<Store> store, async::Executor& executor, Scope scope, const WatchOptions& options)
      : store_(std::move(store)),
        executor_(executor),
        scope_(std::move(scope)),
        cursor_(options.revision),
        bookmarks_(options.bookmarks),
        end_(executor.clock().MonoNow() + options.timeout) {
    next_bookmark_ = executor.clock().MonoNow() + kBookmarkEvery;
    if (cursor_ != 0) return;
    cursor_ = store_->revision();
    for (ObjectPtr& object : store_->List(scope_.kind->Qualified(), scope_.namespace_name)) {
      if (scope_.Covers(*object)) initial_.push_back(std::move(object));
    }
  }
  ~Watch() override { Unsubscribe(); }

  async::Task<Result<std::string>> Read() override {
    const auto self = shared_from_this();
    for (;;) {
      if (closed_) co_return Fail(Code::kCancelled, "the watch was closed");
      std::string piece = Next();
      if (!piece.empty() || done_) co_return piece;
      async::OneShot<bool> wake(executor_);
      wake_ = wake;
      const async::TimerId timer =
          executor_.PostAt(std::min(end_, bookmarks_ ? next_bookmark_ : end_), [wake] { wake.Set(true); });
      if (subscription_ == 0) {
        subscription_ = store_->Subscribe([weak = weak_from_this()](const Change& change) {
          const auto watch = weak.lock();
          if (watch && (change.key.resource.empty() || watch->Concerns(change))) watch->Wake();
        });
      }
      co_await wake.Wait();
      executor_.Cancel(timer);
    }
  }

  void Close() override {
    closed_ = true;
    Unsubscribe();
    Wake();
  }

 private:
  bool Concerns(const Change& change) const {
    return change.key.resource == scope_.kind->Qualified() &&
           (scope_.namespace_name.empty() || change.key.namespace_name == scope_.namespace_name);
  }
  void Wake() {
    if (wake_) wake_->Set(true);
  }
  void Unsubscribe() {
    if (subscription_ != 0) store_->Unsubscribe(subscription_);
    subscription_ = 0;
  }

  std::string Next() {
    std::string piece;
    if (done_) return piece;
    while (!initial_.empty() && piece.size() < kMaxWatchPiece) {
      piece += Line("ADDED", *initial_.front());
      initial_.pop_front();
    }
    if (!initial_.empty()) return piece;
    if (cursor_ < store_->oldest_known()) {
      done_ = true;
      return piece + Line("ERROR", ToStatus(Expired("too old resource version: " + std::to_string(cursor_) +
                                                    " (" + std::to_string(store_->oldest_known()) + ")")));
    }
    while (piece.size() < kMaxWatchPiece && cursor_ < store_->revision()) {
      for (const Change* change : store_->Since(cursor_, kChangesAtOnce)) {
        cursor_ = change->revision;
        if (Concerns(*change)) Append(*change, piece);
        if (piece.size() >= kMaxWatchPiece) break;
      }
    }
    const Mono now = executor_.clock().MonoNow();
    if (piece.empty() && bookmarks_ && now >= next_bookmark_) {
      next_bookmark_ = now + kBookmarkEvery;
      piece = Line("BOOKMARK", Bookmark());
    }
    done_ = done_ || store_->closed() || now >= end_;
    return piece;
  }

  // A change seen through the selectors: what enters them is added, what leaves them deleted.
  void Append(const Change& change, std::string& piece) const {
    const bool was = change.previous && scope_.Covers(*change.previous);
    const bool is = change.type != Change::Type::kDeleted && scope_.Covers(*change.object);
    if (is) {
      piece += Line(was ? "MODIFIED" : "ADDED", *change.object);
    } else if (was) {
      json::Value last = *change.previous;
      Meta(last).Set("resourceVersion", std::to_string(change.revision));
      piece += Line("DELETED", last);
    }
  }

  json::Value Bookmark() const {
    return json::Object{{"kind", scope_.kind->kind},
                        {"apiVersion", scope_.kind->ApiVersion()},
                        {"metadata", json::Object{{"resourceVersion", std::to_string(cursor_)},
                                                  {"creationTimestamp", nullptr}}}};
  }

  const std::shared_ptr<Store> store_;
  async::Executor& executor_;
  const Scope scope_;
  int64_t cursor_;
  const bool bookmarks_;
  const Mono end_;
  Mono next_bookmark_;
  std::deque<ObjectPtr> initial_;
  std::optional<async::OneShot<bool>> wake_;
  uint64_t subscription_ = 0;
  bool closed_ = false;
  bool done_ = false;
};

}  // namespace

std::shared_ptr<http::BodyStream> MakeWatch(std::shared_ptr<Store> store, async::Executor& executor,
                                            Scope scope, const WatchOptions& options) {
  return std::make_shared<Watch>(std::move(store), executor, std::move(scope), options);
}

}  // namespace cubeplane::engine
