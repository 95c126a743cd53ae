// A watch: events as JSON lines, from the change feed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "apiserver/context.h"
#include "apiserver/listing.h"
#include "async/sync.h"
#include "http/message.h"

namespace cubeplane::apiserver {

// Level-triggered: it keeps only the number of the last event it has looked at and asks the ledger for those
// after it, so that a slow reader costs no memory; one slower than the feed's retention gets an ERROR event
// with 410.
//
// Threading: on the control thread. Lifetime: the ledger and streams outlive it.
class WatchBody final : public http::BodyStream, public std::enable_shared_from_this<WatchBody> {
 public:
  struct Options {
    Scope scope;
    auth::Principal principal;
    model::Language language = model::Language::kEn;
    int64_t after = 0;
    bool resumed = false;         // from a resourceVersion: what the reader knows already is not known here
    std::vector<Listed> present;  // otherwise: given as ADDED first
    bool bookmarks = false;
    Duration bookmark_every{}, timeout{};
  };
  WatchBody(Parts& parts, Streams& streams, Options options);
  ~WatchBody() override;
  // Registers with the streams' bounds; kTooMany.
  Result<void> Open();

  async::Task<Result<std::string>> Read() override;
  void Close() override;

 private:
  void Wake();
  void Leave();
  std::string TakePresent();
  async::Task<Result<std::string>> NextLines();
  async::Task<void> WaitForChange();
  std::string LineFor(const state::WatchEvent& event);
  std::string Bookmark() const;
  bool MaySee(const state::WatchEvent& event) const;

  Parts& parts_;
  Streams& streams_;
  Options options_;
  std::unordered_set<std::string> known_;  // uids the reader has been told of
  size_t next_present_ = 0;
  std::optional<size_t> listener_, stream_;
  std::optional<async::OneShot<bool>> waiter_;
  async::TimerId timer_ = 0;
  Mono end_, next_bookmark_;
  bool closed_ = false, finished_ = false;
};

}  // namespace cubeplane::apiserver
