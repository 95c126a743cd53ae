#include "apiserver/watch.h"

#include <algorithm>

#include "apiserver/errors.h"
#include "json/json.h"

namespace cubeplane::apiserver {
namespace {

constexpr size_t kEventsAtOnce = 200;
constexpr size_t kPieceBytes = 64u << 10;

std::string Line(std::string_view type, json::Value object) {
  const json::Value event(json::Object{{"type", type}, {"object", std::move(object)}});
  return json::Write(event) + "\n";
}

model::StringMap LabelsOf(const json::Value& object) {
  model::StringMap labels;
  for (const auto& [name, value] : object["metadata"]["labels"].AsObject())
    labels.emplace(name, value.AsString());
  return labels;
}

bool IsMember(const json::Value& project, const std::string& user) {
  const json::Array& members = project["spec"]["members"].AsArray();
  return std::ranges::any_of(members,
                             [&](const json::Value& member) { return member["user"].AsString() == user; });
}

// First met in a resumed stream: new, as far as the object tells.
bool LooksNew(const json::Value& object) {
  const std::string& phase = object["status"]["phase"].AsString();
  return object["metadata"]["generation"].AsInt() <= 1 &&
         (phase.empty() || phase == "waiting" || phase == "admitted");
}

}  // namespace

WatchBody::WatchBody(Parts& parts, Streams& streams, Options options)
    : parts_(parts), streams_(streams), options_(std::move(options)) {
  for (const Listed& one : options_.present) known_.insert(one.uid);
  end_ = parts_.clock.MonoNow() + options_.timeout;
  next_bookmark_ = parts_.clock.MonoNow() + options_.bookmark_every;
}

WatchBody::~WatchBody() { Leave(); }

Result<void> WatchBody::Open() {
  const std::weak_ptr<WatchBody> self = weak_from_this();
  auto close = [self] {
    if (const auto body = self.lock()) body->Close();
  };
  ASSIGN_OR_RETURN(stream_, streams_.Add(options_.principal.user, options_.principal.credential, close));
  listener_ = parts_.ledger.OnChange([self](const state::WatchEvent&) {
    if (const auto body = self.lock()) body->Wake();
  });
  return {};
}

void WatchBody::Leave() {
  if (stream_) streams_.Remove(*stream_);
  if (listener_) parts_.ledger.RemoveListener(*listener_);
  if (timer_ != 0) parts_.executor.Cancel(timer_);
  stream_.reset();
  listener_.reset();
  timer_ = 0;
}

void WatchBody::Close() {
  closed_ = true;
  Wake();
}

void WatchBody::Wake() {
  if (waiter_) waiter_->Set(true);
}

std::string WatchBody::TakePresent() {
  std::string piece;
  while (next_present_ < options_.present.size() && piece.size() < kPieceBytes) {
    piece += Line("ADDED", options_.present[next_present_++].render());
  }
  return piece;
}

async::Task<void> WatchBody::WaitForChange() {
  const Mono until = options_.bookmarks ? std::min(end_, next_bookmark_) : end_;
  waiter_.emplace(parts_.executor);
  const async::OneShot<bool> waiter = *waiter_;
  timer_ = parts_.executor.PostAt(until, [waiter] { waiter.Set(false); });
  co_await waiter.Wait();
  parts_.executor.Cancel(timer_);
  timer_ = 0;
  waiter_.reset();
}

bool WatchBody::MaySee(const state::WatchEvent& event) const {
  if (options_.principal.admin) return true;
  const std::string& user = options_.principal.user;
  // A project that is gone is told to those who were its members.
  if (event.kind == "Project" && event.deleted) return IsMember(event.object, user);
  const state::ProjectPtr project =
      parts_.ledger.FindProject(event.kind == "Project" ? event.name : event.project);
  if (!project) return false;
  return std::ranges::find(project->spec.members, user, &model::Member::user) != project->spec.members.end();
}

std::string WatchBody::LineFor(const state::WatchEvent& event) {
  const Scope& scope = options_.scope;
  if (event.kind != scope.kind || (!scope.project.empty() && event.project != scope.project)) return "";
  const bool told = known_.contains(event.uid);
  const bool matches = MaySee(event) && scope.selector.Matches(LabelsOf(event.object));
  if (event.deleted || !matches) {
    // What leaves the selection, or the caller's sight, is gone for this reader.
    known_.erase(event.uid);
    if (!told && !(event.deleted && matches)) return "";
    if (matches) return Line("DELETED", event.object);
    return Line("DELETED",
                json::Object{{"apiVersion", event.object["apiVersion"]},
                             {"kind", event.kind},
                             {"metadata", json::Object{{"name", event.name},
                                                       {"project", event.project},
                                                       {"uid", event.uid},
                                                       {"resourceVersion", std::to_string(event.seq)}}}});
  }
  known_.insert(event.uid);
  const bool added = !told && (!options_.resumed || LooksNew(event.object));
  return Line(added ? "ADDED" : "MODIFIED", event.object);
}

std::string WatchBody::Bookmark() const {
  return Line("BOOKMARK",
              json::Object{{"apiVersion", model::kApiVersion},
                           {"kind", options_.scope.kind},
                           {"metadata", json::Object{{"resourceVersion", std::to_string(options_.after)}}}});
}

async::Task<Result<std::string>> WatchBody::NextLines() {
  std::string piece;
  while (piece.empty() && options_.after < parts_.ledger.version()) {
    Result<std::vector<state::WatchEvent>> events =
        co_await parts_.ledger.EventsAfter(options_.after, kEventsAtOnce);
    CO_RETURN_IF_ERROR(events);
    // Numbers that belong to nothing we are told of are passed over at once.
    if (events->empty()) options_.after = parts_.ledger.version();
    for (const state::WatchEvent& event : *events) {
      options_.after = std::max(options_.after, event.seq);
      piece += LineFor(event);
    }
  }
  co_return piece;
}

async::Task<Result<std::string>> WatchBody::Read() {
  const std::shared_ptr<WatchBody> alive = shared_from_this();
  for (;;) {
    if (closed_ || finished_) {
      Leave();
      co_return std::string();
    }
    std::string present = TakePresent();
    if (!present.empty()) co_return present;
    Result<std::string> lines = co_await NextLines();
    if (!lines) {
      finished_ = true;
      co_return Line("ERROR", StatusObject(lines.error(), options_.language, ""));
    }
    if (!lines->empty()) co_return std::move(*lines);
    const Mono now = parts_.clock.MonoNow();
    if (now >= end_) {
      finished_ = true;
      continue;
    }
    if (options_.bookmarks && now >= next_bookmark_) {
      next_bookmark_ = now + options_.bookmark_every;
      co_return Bookmark();
    }
    if (closed_) continue;
    co_await WaitForChange();
  }
}

}  // namespace cubeplane::apiserver
