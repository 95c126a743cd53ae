#include "apiserver/listing.h"

#include <algorithm>

#include "apiserver/watch.h"
#include "model/codec.h"

namespace cubeplane::apiserver {
namespace {

http::Response PageOf(const std::vector<Listed>& selected, size_t begin, size_t limit,
                      const std::string& kind, int64_t version) {
  json::Array items;
  const size_t end = std::min(selected.size(), begin + limit);
  for (size_t i = begin; i < end; ++i) items.push_back(selected[i].render());
  json::Object metadata{{"resourceVersion", std::to_string(version)}};
  if (end < selected.size()) {
    metadata.Set("continue", selected[end - 1].key);
    metadata.Set("remainingItemCount", static_cast<int64_t>(selected.size() - end));
  }
  return JsonResponse(200, json::Object{{"apiVersion", model::kApiVersion},
                                        {"kind", kind + "List"},
                                        {"metadata", std::move(metadata)},
                                        {"items", std::move(items)}});
}

Result<int64_t> StartOf(const Context& context) {
  ASSIGN_OR_RETURN(std::optional<int64_t> version, IntQuery(context, "resourceVersion", 0, INT64_MAX));
  const int64_t present = context.parts.ledger.version();
  if (!version) return present;
  // A version of the future is of another store (restored from a backup, perhaps): start again from a list.
  if (*version > present) {
    return Fail(Error(Code::kGone, "version_gone", {}, "this resourceVersion is not known here"));
  }
  return *version;
}

async::Task<Answer> StartWatch(Context& context, Scope scope, std::vector<Listed> selected) {
  const Result<int64_t> start = StartOf(context);
  CO_RETURN_IF_ERROR(start);
  const Result<std::optional<int64_t>> seconds = IntQuery(context, "timeoutSeconds", 1, 3600);
  CO_RETURN_IF_ERROR(seconds);
  const Result<bool> bookmarks = BoolQuery(context, "allowWatchBookmarks");
  CO_RETURN_IF_ERROR(bookmarks);
  WatchBody::Options options;
  options.scope = std::move(scope);
  options.principal = *context.principal;
  options.language = context.language;
  options.after = *start;
  options.bookmarks = *bookmarks;
  options.bookmark_every = context.settings.bookmark_every;
  options.timeout = *seconds ? std::min<Duration>(std::chrono::seconds(**seconds), context.settings.max_watch)
                             : context.settings.max_watch;
  options.resumed = context.HasQuery("resourceVersion");
  if (options.resumed) {
    // Too old is said by the status code when it is known before the first byte.
    Result<std::vector<state::WatchEvent>> probe = co_await context.parts.ledger.EventsAfter(*start, 1);
    CO_RETURN_IF_ERROR(probe);
  } else {
    options.present = std::move(selected);
  }
  auto body = std::make_shared<WatchBody>(context.parts, context.streams, std::move(options));
  const Result<void> opened = body->Open();
  CO_RETURN_IF_ERROR(opened);
  http::Response response;
  response.headers.Set("Content-Type", "application/json;stream=watch");
  response.stream = std::move(body);
  co_return response;
}

}  // namespace

bool MaySee(const Context& context, std::string_view kind, std::string_view project, std::string_view name) {
  const auth::Standing standing = StandingIn(context, kind == "Project" ? name : project);
  return standing >= auth::Standing::kViewer;
}

async::Task<Answer> ListOrWatch(Context& context, Scope scope, std::vector<Listed> all) {
  Result<Selector> selector = Selector::Parse(context.Query("labelSelector"));
  CO_RETURN_IF_ERROR(selector);
  scope.selector = std::move(*selector);
  std::erase_if(all, [&](const Listed& one) { return !scope.selector.Matches(*one.labels); });
  std::ranges::sort(all, {}, &Listed::key);
  const Result<bool> watch = BoolQuery(context, "watch");
  CO_RETURN_IF_ERROR(watch);
  if (*watch) {
    Answer answer = co_await StartWatch(context, std::move(scope), std::move(all));
    co_return answer;
  }
  const Result<std::optional<int64_t>> limit = IntQuery(context, "limit", 1, kMaxPage);
  CO_RETURN_IF_ERROR(limit);
  const std::string after = context.Query("continue");
  const auto begin = after.empty() ? all.begin() : std::ranges::upper_bound(all, after, {}, &Listed::key);
  co_return PageOf(all, static_cast<size_t>(begin - all.begin()),
                   static_cast<size_t>(limit->value_or(kMaxPage)), scope.kind,
                   context.parts.ledger.version());
}

json::Value ProjectObject(const Context& context, const model::Project& project) {
  json::Value object = model::ToJson(project);
  json::Array bindings;
  for (const state::BindingUse& use : context.parts.ledger.Bindings(project.metadata.name)) {
    json::Object used;
    for (const auto& [resource, amount] : use.used) used.Set(resource, amount.ToString());
    bindings.push_back(json::Object{{"cluster", use.cluster}, {"used", std::move(used)}});
  }
  object.MakeObject()["status"].Set("bindings", std::move(bindings));
  return object;
}

}  // namespace cubeplane::apiserver
