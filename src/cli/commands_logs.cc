// logs.
#include "cli/kinds.h"
#include "cli/log_cursor.h"
#include "cli/print.h"
#include "cli/width.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using std::chrono::milliseconds;

bool IsOver(const std::string& phase) {
  return phase == "succeeded" || phase == "failed" || phase == "stopped";
}

// What the job left as its result, behind its log; to stderr, so that stdout stays the log alone.
void TellResult(Context& context, const json::Value& object) {
  const json::Value& result = object.At("status.result");
  if (result.IsNull() || !IsOver(object.At("status.phase").AsString())) return;
  const std::string text = result.IsString() ? result.AsString() : json::Write(result);
  if (!text.empty()) context.terminal.err << context.T(Text::kFieldResult) << ' ' << Printable(text) << '\n';
}

// Follows one workload over attempts, restarts of the control plane and broken connections.
class Follower {
 public:
  Follower(Context& context, Api& api, Found found)
      : context_(context), api_(api), found_(std::move(found)) {}

  Outcome<Exit> Run() {
    for (;;) {
      CLI_TRY(Refresh());
      const int64_t attempt = context_.options.attempt.value_or(LastAttempt());
      if (attempt != attempt_) cursor_.Reset();
      attempt_ = attempt;
      const bool over = IsOver(Phase());
      if (HasLog()) {
        CLI_TRY(StreamOnce());
      } else {
        TellWhyNot();
      }
      // Over before the stream began: it has given all there is.
      if (over || context_.options.attempt.value_or(attempt) < LastAttempt()) return End();
      Wait(api_.clock(), milliseconds(500));
    }
  }

 private:
  const std::string& Phase() const { return found_.object.At("status.phase").AsString(); }
  int64_t LastAttempt() const {
    const json::Array& attempts = found_.object.At("status.attempts").AsArray();
    return attempts.empty() ? 0 : attempts.back()["number"].AsInt();
  }
  bool HasLog() const {
    return Phase() != "waiting" && Phase() != "admitted" &&
           (attempt_ > 0 || !found_.ref.kind->kind.starts_with("Training"));
  }

  // The object as it is now. A control plane that is away is waited for: the work goes on without it.
  Outcome<> Refresh() {
    for (int away = 0;; ++away) {
      Outcome<Answer> answer = api_.Call({.path = found_.ref.Path()});
      if (answer) {
        found_.object = std::move(answer->body);
        return {};
      }
      if (answer.error().exit != kNoCubeplane || away >= kMaxAway)
        return std::unexpected(std::move(answer.error()));
      if (away == 0) context_.terminal.err << context_.T(Text::kAway) << std::endl;
      Wait(api_.clock(), milliseconds(1000));
    }
  }

  Outcome<> StreamOnce() {
    cursor_.Rewind();
    std::string path = found_.ref.Path() + "/log?follow=true&timestamps=true";
    if (attempt_ > 0) path += "&attempt=" + std::to_string(attempt_);
    // Only the first stream may leave lines out; the cursor skips what a later one repeats.
    if (context_.options.tail && !streamed_) path += "&tail=" + std::to_string(*context_.options.tail);
    const Outcome<bool> ended = api_.Stream(path, [this](std::string_view piece) {
      streamed_ = true;
      Print(cursor_.Take(piece, context_.options.timestamps));
      return true;
    });
    if (ended && *ended) Print(cursor_.TakeRest(context_.options.timestamps));
    if (ended || ended.error().exit == kNoCubeplane) return {};
    // Not there yet: the pod has not started. Anything else would stay as it is.
    const bool early = ended.error().exit == kNotFound || ended.error().exit == kConflict;
    if (early && !IsOver(Phase())) return {};
    return std::unexpected(ended.error());
  }

  void Print(const std::string& lines) {
    context_.terminal.out << (context_.terminal.out_is_tty ? filter_.Pass(lines) : lines) << std::flush;
  }

  void TellWhyNot() {
    std::string why = ReasonText(context_.terminal, found_.object.At("status.reason"));
    std::string line = PhaseWord(context_.terminal, Phase()) + (why.empty() ? "" : ": " + why);
    if (line == told_) return;
    told_ = line;
    context_.terminal.err << Printable(line) << std::endl;
  }

  Outcome<Exit> End() {
    if (!IsOver(Phase())) return kDone;
    const std::string why = ReasonText(context_.terminal, found_.object.At("status.reason"));
    context_.terminal.err << Printable(found_.ref.Shown()) << ": " << PhaseWord(context_.terminal, Phase())
                          << (why.empty() ? "" : ". " + Printable(why)) << '\n';
    TellResult(context_, found_.object);
    return Phase() == "failed" ? kFailed : kDone;
  }

  static constexpr int kMaxAway = 600;

  Context& context_;
  Api& api_;
  Found found_;
  LogCursor cursor_;
  LogFilter filter_;
  int64_t attempt_ = 0;
  bool streamed_ = false;
  std::string told_;
};

}  // namespace

Outcome<Exit> RunLogs(Context& context) {
  if (context.options.args.empty() || context.options.args.size() > 2)
    return Fail(kUsage, context.T(Text::kLogsWhat));
  CLI_ASSIGN(std::vector<Found> found, ResolveAll(context));
  if (found.size() != 1 || !found[0].ref.kind->in_project) return Fail(kUsage, context.T(Text::kLogsWhat));
  CLI_ASSIGN(Api * api, context.GetApi());
  if (context.options.follow) return Follower(context, *api, std::move(found[0])).Run();

  std::string path =
      found[0].ref.Path() + "/log?timestamps=" + (context.options.timestamps ? "true" : "false");
  if (context.options.attempt) path += "&attempt=" + std::to_string(*context.options.attempt);
  if (context.options.tail) path += "&tail=" + std::to_string(*context.options.tail);
  LogFilter filter;
  CLI_ASSIGN(const bool whole, api->Stream(path, [&](std::string_view piece) {
    context.terminal.out << (context.terminal.out_is_tty ? filter.Pass(piece) : std::string(piece));
    return true;
  }));
  context.terminal.out << std::flush;
  if (!whole) return Fail(kNoCubeplane, context.T(Text::kCutShort));
  TellResult(context, found[0].object);
  return kDone;
}

}  // namespace cubeplane::cli
