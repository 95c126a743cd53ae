#include "cli/api.h"

#include <memory>

#include "async/group.h"
#include "async/loop.h"
#include "async/sync.h"
#include "cli/texts.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

using std::chrono::seconds;

// Tells on stderr, from the second second on, that an answer is awaited: one rewritten line on a terminal,
// one line elsewhere.
class Progress {
 public:
  Progress(async::Loop& loop, Terminal& terminal) : loop_(loop), terminal_(terminal) { Again(); }
  ~Progress() {
    if (terminal_.err_is_tty && ticks_ > 0) terminal_.err << "\r\033[K" << std::flush;
  }

 private:
  void Again() {
    loop_.PostAt(loop_.clock().MonoNow() + seconds(1), [this] { Tick(); });
  }
  void Tick() {
    ++ticks_;
    const std::string line = Say(terminal_, Text::kAwaiting, {{"n", std::to_string(ticks_)}});
    if (terminal_.err_is_tty) {
      terminal_.err << "\r\033[K" << line << std::flush;
    } else if (ticks_ == 1) {
      terminal_.err << line << std::endl;
    }
    Again();
  }
  async::Loop& loop_;
  Terminal& terminal_;
  int ticks_ = 0;
};

// One exchange with a loop, I/O thread and client of its own. The loop stands first, so that it goes last.
struct Exchange {
  Exchange(const Clock& clock, const http::Endpoint& endpoint)
      : loop(clock), io(1), client(io, loop, endpoint) {}
  async::Loop loop;
  http::IoContext io;
  http::Client client;
};

async::Task<Result<bool>> Pump(std::shared_ptr<http::BodyStream> stream,
                               const std::function<bool(std::string_view)>& sink) {
  for (;;) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece) co_return false;
    if (piece->empty()) co_return true;
    if (!sink(*piece)) {
      stream->Close();
      co_return true;
    }
  }
}

struct Opened {
  int status = 0;
  std::string refused;  // body of a refusal
  bool ended = false;
};

async::Task<Result<Opened>> Follow(http::Client& client, http::Request request, http::SendOptions options,
                                   const std::function<bool(std::string_view)>& sink) {
  Result<http::Response> response = co_await client.Send(std::move(request), options);
  CO_RETURN_IF_ERROR(response);
  Opened opened{.status = response->status, .refused = {}, .ended = true};
  const std::function<bool(std::string_view)> keep = [&opened](std::string_view piece) {
    opened.refused += piece;
    return opened.refused.size() < (1u << 20);
  };
  const bool good = response->status < 400;
  if (!response->stream) {
    if (good) {
      sink(response->body);
    } else {
      opened.refused = response->body;
    }
    co_return opened;
  }
  const std::function<bool(std::string_view)>& into = good ? sink : keep;
  Result<bool> ended = co_await Pump(response->stream, into);
  opened.ended = ended.value_or(false);
  co_return opened;
}

}  // namespace

void Wait(const Clock& clock, Duration duration) {
  async::Loop loop(clock);
  async::RunToEnd(loop, async::Sleep(loop, duration));
}

std::string ApiPath(std::initializer_list<std::string_view> parts) {
  std::string path = "/api/v1";
  for (const std::string_view part : parts) path += "/" + http::PercentEncode(part);
  return path;
}

http::Request Api::MakeRequest(const Ask& ask) const {
  http::Request request;
  request.method = ask.method;
  request.target = ask.path;
  request.headers.Set("Host", target_.host);
  request.headers.Set("Accept", "application/json");
  request.headers.Set("Accept-Language", terminal_.language == model::Language::kZh ? "zh-CN" : "en");
  request.headers.Set("User-Agent", "cubeplane-cli");
  if (!target_.token.empty()) request.headers.Set("Authorization", "Bearer " + target_.token);
  if (!ask.body.empty()) request.headers.Set("Content-Type", ask.content_type);
  request.body = ask.body;
  return request;
}

Failure Api::FromExchange(const Error& error) const {
  if (error.code == Code::kTimeout)
    return Failure(kTimeout, Say(terminal_, Text::kNoAnswer, {{"where", target_.shown}}));
  if (error.code == Code::kTooLarge) return Failure(kFailed, error.message);
  return Failure(kNoCubeplane,
                 Say(terminal_, Text::kNotThere, {{"where", target_.shown}, {"why", error.message}}),
                 Say(terminal_, Text::kStartIt));
}

Failure Api::FromStatus(int status, std::string raw) const {
  const Result<json::Value> body = json::Parse(raw);
  if (!body || (*body)["kind"].AsString() != "Status") {
    return Failure(ExitFor(status, {}), Say(terminal_, Text::kStrangeAnswer,
                                            {{"status", std::to_string(status)}, {"where", target_.shown}}));
  }
  const json::Value& details = (*body)["details"];
  Failure failure(ExitFor(status, details["code"].AsString()), (*body)["message"].AsString(),
                  details["next"].AsString());
  for (const json::Value& cause : details["causes"].AsArray()) {
    const std::string line = Say(terminal_, Text::kCause,
                                 {{"field", cause["field"].AsString()},
                                  {"found", cause["found"].AsString()},
                                  {"allowed", cause["allowed"].AsString()}});
    failure.message += "\n  " + line;
  }
  if (status == 401 && failure.next.empty()) failure.next = Say(terminal_, Text::kLogIn);
  failure.status = *body;
  return failure;
}

Outcome<Answer> Api::Call(const Ask& ask) {
  http::Request request = MakeRequest(ask);
  if (ask.once) request.headers.Set("Idempotency-Key", random_.Hex(16));
  const bool repeatable = ask.once || ask.method == "GET" || ask.method == "PUT";
  const http::SendOptions options{.timeout = kAnswerTimeout, .max_body = kMaxAnswer};
  const Mono began = clock_.MonoNow();
  bool sent = false;
  for (int attempt = 0;; ++attempt) {
    Exchange exchange(clock_, target_.endpoint);
    Progress progress(exchange.loop, terminal_);
    Result<http::Response> response = async::RunToEnd(exchange.loop, exchange.client.Send(request, options));
    if (response) {
      if (response->status >= 400) return std::unexpected(FromStatus(response->status, response->body));
      Answer answer{.status = response->status, .body = {}, .raw = std::move(response->body)};
      if (Result<json::Value> body = json::Parse(answer.raw); body) answer.body = std::move(*body);
      return answer;
    }
    sent = sent || response.error().code == Code::kInternal;
    const bool again =
        sent && repeatable && response.error().code != Code::kTimeout && clock_.MonoNow() - began < kRetryFor;
    if (!again) return std::unexpected(FromExchange(response.error()));
    if (attempt == 0) terminal_.err << Say(terminal_, Text::kSendingAgain) << std::endl;
    Wait(clock_, seconds(1));
  }
}

Outcome<bool> Api::Stream(const std::string& path, const std::function<bool(std::string_view)>& sink) {
  Exchange exchange(clock_, target_.endpoint);
  const http::SendOptions options{.timeout = kAnswerTimeout, .max_body = kMaxAnswer, .stream = true};
  Result<Opened> opened = async::RunToEnd(
      exchange.loop, Follow(exchange.client, MakeRequest({.method = "GET", .path = path}), options, sink));
  if (!opened) return std::unexpected(FromExchange(opened.error()));
  if (opened->status >= 400) return std::unexpected(FromStatus(opened->status, opened->refused));
  return opened->ended;
}

}  // namespace cubeplane::cli
