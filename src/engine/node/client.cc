#include "engine/node/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "async/backoff.h"
#include "async/sync.h"
#include "engine/node/spec.h"
#include "engine/node/sys.h"
#include "json/json.h"

namespace cubeplane::engine::node {
namespace {

using json::Object;
using json::Value;

constexpr Duration kReconnectMin = std::chrono::milliseconds(50);
constexpr Duration kReconnectMax = std::chrono::seconds(2);
constexpr size_t kMaxAnswerBytes = 32u << 20;
constexpr size_t kMaxQueuedBytes = 32u << 20;
constexpr size_t kMaxPendingCalls = 10'000;

Error NotThere() { return Error(Code::kUnavailable, "the node process cannot be reached"); }

}  // namespace

struct Client::Core : std::enable_shared_from_this<Core> {
  using Answer = Result<Value>;
  struct Pending {
    async::OneShot<Answer> answer;
    async::TimerId timer;
  };

  Core(async::Executor& executor, std::string socket)
      : executor(executor), socket(std::move(socket)), wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // ---- on the executor

  void OnMessage(const Value& message) {
    if (ended) return;
    if (message["event"].AsString() == "state") {
      if (callback) callback(PodStateFromJson(message["state"]));
      return;
    }
    const int64_t id = message["id"].AsInt();
    if (id == 0) return OnHello(message);
    const Value& error = message["error"];
    Settle(id, error.IsObject() ? Answer(Fail(ErrorFromJson(error))) : Answer(message));
  }

  void OnHello(const Value& message) {
    connected = message["ok"].AsBool();
    guarantees = GuaranteesFromJson(message["guarantees"]);
  }

  void OnBroken() {
    connected = false;
    while (!pending.empty()) Settle(pending.begin()->first, Fail(NotThere()));
  }

  void Settle(int64_t id, Answer answer) {
    const auto found = pending.find(id);
    if (found == pending.end()) return;
    const Pending waiting = found->second;
    pending.erase(found);
    executor.Cancel(waiting.timer);
    waiting.answer.Set(std::move(answer));
  }

  Result<void> Queue(const std::string& line) {
    std::lock_guard lock(mutex);
    if (out.size() + line.size() > kMaxQueuedBytes)
      return Fail(Code::kTooMany, "too many requests wait for the node");
    out += line;
    Wake();
    return {};
  }

  void Wake() const {
    const uint64_t one = 1;
    (void)!write(wake.get(), &one, sizeof one);
  }

  // ---- on the thread

  void RunThread() {
    SystemRandom random;
    async::Backoff backoff(kReconnectMin, kReconnectMax, random);
    while (!Stopping()) {
      auto connection = ConnectUnix(socket, SOCK_STREAM);
      if (connection) {
        fcntl(connection->get(), F_SETFL, O_NONBLOCK);
        backoff.Reset();
        Serve(*connection);
        executor.Post([core = shared_from_this()] { core->OnBroken(); });
      }
      if (Stopping()) return;
      pollfd rest{wake.get(), POLLIN, 0};
      poll(&rest, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(backoff.Next()).count()));
    }
  }

  void Serve(const Fd& connection) {
    std::string in, sending;
    {
      std::lock_guard lock(mutex);
      out = json::Write(Object{{"id", 0}, {"op", "hello"}, {"protocol", kProtocol}}) + "\n";
    }
    while (!Stopping()) {
      {
        std::lock_guard lock(mutex);
        sending += std::exchange(out, "");
      }
      pollfd polls[2] = {{connection.get(), static_cast<short>(POLLIN | (sending.empty() ? 0 : POLLOUT)), 0},
                         {wake.get(), POLLIN, 0}};
      if (poll(polls, 2, -1) < 0 && errno != EINTR) return;
      if (polls[1].revents) {
        uint64_t count = 0;
        (void)!read(wake.get(), &count, sizeof count);
      }
      if ((polls[0].revents & POLLOUT) && !SendSome(connection, sending)) return;
      if ((polls[0].revents & (POLLIN | POLLHUP | POLLERR)) && !ReceiveSome(connection, in)) return;
    }
  }

  static bool SendSome(const Fd& connection, std::string& bytes) {
    const ssize_t sent = send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    bytes.erase(0, static_cast<size_t>(sent));
    return true;
  }

  bool ReceiveSome(const Fd& connection, std::string& in) {
    char buffer[64u << 10];
    const ssize_t got = recv(connection.get(), buffer, sizeof buffer, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    in.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = in.find('\n'); end != std::string::npos; end = in.find('\n', begin)) {
      auto message =
          json::Parse(std::string_view(in).substr(begin, end - begin), {.max_bytes = kMaxAnswerBytes});
      if (!message) return false;
      executor.Post([core = shared_from_this(), message = std::move(*message)] { core->OnMessage(message); });
      begin = end + 1;
    }
    in.erase(0, begin);
    return in.size() <= kMaxAnswerBytes;
  }

  bool Stopping() {
    std::lock_guard lock(mutex);
    return stop;
  }

  async::Executor& executor;
  const std::string socket;
  const Fd wake;
  std::mutex mutex;
  std::string out;    // guarded by mutex
  bool stop = false;  // guarded by mutex
  // The executor's only.
  std::map<int64_t, Pending> pending;
  std::function<void(const PodState&)> callback;
  std::vector<Guarantee> guarantees;
  int64_t last_id = 0;
  bool connected = false, ended = false;
};

Client::Client(async::Executor& executor, std::string socket, std::string data)
    : core_(std::make_shared<Core>(executor, std::move(socket))), data_(std::move(data)) {
  thread_ = std::thread([core = core_] { core->RunThread(); });
}

Client::~Client() {
  {
    std::lock_guard lock(core_->mutex);
    core_->stop = true;
  }
  core_->Wake();
  thread_.join();
  core_->ended = true;
  core_->callback = nullptr;
  while (!core_->pending.empty()) {
    core_->Settle(core_->pending.begin()->first, Fail(Code::kCancelled, "the program stops"));
  }
}

async::Task<Result<Value>> Client::Call(std::shared_ptr<Core> core, Object request) {
  if (!core->connected) co_return Fail(NotThere());
  if (core->pending.size() >= kMaxPendingCalls)
    co_return Fail(Code::kTooMany, "too many calls wait for the node");
  const int64_t id = ++core->last_id;
  request.Set("id", id);
  const std::string line = json::Write(request) + "\n";
  if (line.size() > kMaxLineBytes)
    co_return Fail(Code::kTooLarge, "the request to the node is larger than 8 MiB");
  auto queued = core->Queue(line);
  CO_RETURN_IF_ERROR(queued);
  async::OneShot<Core::Answer> answer(core->executor);
  const Mono deadline = core->executor.clock().MonoNow() + kCallTimeout;
  const async::TimerId timer = core->executor.PostAt(deadline, [core, id] {
    core->Settle(id, Fail(Code::kTimeout, "the node process did not answer in time"));
  });
  core->pending.insert_or_assign(id, Core::Pending{answer, timer});
  Core::Answer value = co_await answer.Wait();
  co_return value;
}

async::Task<Result<Tenant>> Client::EnsureTenant(std::string id) {
  Object request{{"op", "ensureTenant"}, {"tenant", id}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  co_return TenantFromJson((*answer)["tenant"]);
}

async::Task<Result<void>> Client::Start(PodRun run) {
  // Checked here too: a pod that can never run costs no trip, and its error reads the same without a node.
  auto checked = CheckRun(run);
  CO_RETURN_IF_ERROR(checked);
  Object request{{"op", "start"}, {"run", ToJson(run)}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  co_return Result<void>();
}

async::Task<Result<void>> Client::Stop(std::string uid, Duration grace) {
  Object request{{"op", "stop"}, {"uid", uid}, {"graceNs", static_cast<int64_t>(grace.count())}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  co_return Result<void>();
}

async::Task<Result<void>> Client::Remove(std::string uid, bool keep_log) {
  Object request{{"op", "remove"}, {"uid", uid}, {"keepLog", keep_log}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  co_return Result<void>();
}

async::Task<Result<std::vector<PodState>>> Client::List() {
  Object request{{"op", "list"}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  std::vector<PodState> states;
  for (const Value& state : (*answer)["states"].AsArray()) states.push_back(PodStateFromJson(state));
  co_return states;
}

async::Task<Result<void>> Client::EndInstance() {
  Object request{{"op", "end"}};
  Result<Value> answer = co_await Call(core_, std::move(request));
  CO_RETURN_IF_ERROR(answer);
  co_return Result<void>();
}

void Client::OnChange(std::function<void(const PodState&)> callback) {
  core_->callback = std::move(callback);
}
std::string Client::LogPath(const std::string& uid) const { return data_ + "/pods/" + uid + "/log"; }
bool Client::connected() const { return core_->connected; }
const std::vector<Guarantee>& Client::guarantees() const { return core_->guarantees; }

}  // namespace cubeplane::engine::node
