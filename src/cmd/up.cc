#include "cmd/up.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "async/loop.h"
#include "cli/exit_codes.h"
#include "cli/texts.h"
#include "engine/node/guarantees.h"
#include "engine/node/node.h"
#include "engine/node/sweep.h"
#include "gateway/gateway.h"
#include "json/json.h"

namespace cubeplane::cmd {
namespace {

constexpr Duration kStartTime = std::chrono::seconds(20);  // an exit within it is a fault at start
constexpr int kStopSeconds = 20;

std::string Words(cli::Text text, const cli::TextParams& params = {}) {
  return cli::Say(cli::LanguageOfEnvironment(), text, params);
}
void Tell(cli::Text text, const cli::TextParams& params = {}) {
  std::fprintf(stderr, "%s\n", Words(text, params).c_str());
}

int Say(const Error& error) {
  std::fprintf(stderr, "cubeplane: %s\n", SentenceOf(error).c_str());
  return cli::ExitFor(HttpStatus(error.code), error.reason);
}

engine::node::NodeOptions NodeOptionsOf(const UpOptions& options, const Places& places) {
  engine::node::NodeOptions node;
  node.socket = places.node_socket();
  node.config.data = places.data;
  node.config.run = places.run;
  node.config.reader = places.service.uid;
  for (const std::string& environment : options.environments) {
    const size_t equals = environment.find('=');
    node.config.environments[environment.substr(0, equals)] = environment.substr(equals + 1);
  }
  node.config.outbound_allow = options.outbound_allow;
  node.trust_tenants = options.trust_tenants;
  if (!places.root) node.uids = places.data + "/uids";
  return node;
}

// In the child: its own process group, so that a Ctrl-C reaches the parent only, and an end with the parent.
void BecomeChild(int dies_by, pid_t parent) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, dies_by);
  if (getppid() != parent) _exit(1);
}

// Gives root up for good; false when the kernel would not.
bool DropRights(const Places& places) {
  if (!places.root) return true;
  if (initgroups(places.service.name.c_str(), places.service.gid) != 0) return false;
  if (setresgid(places.service.gid, places.service.gid, places.service.gid) != 0) return false;
  if (setresuid(places.service.uid, places.service.uid, places.service.uid) != 0) return false;
  return setuid(0) != 0;
}

pid_t StartNode(const UpOptions& options, const Places& places) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  BecomeChild(SIGTERM, parent);
  prctl(PR_SET_NAME, "cubeplane-node");
  const Result<void> ran = engine::node::RunNode(NodeOptionsOf(options, places));
  if (!ran) Say(ran.error());
  _exit(ran ? 0 : cli::ExitFor(HttpStatus(ran.error().code), ran.error().reason));
}

pid_t StartPlane(const UpOptions& options, const Places& places) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  if (!DropRights(places)) {
    Tell(cli::Text::kUpNoDrop);
    _exit(1);
  }
  // After the change of user: it erases the signal of the parent's death.
  BecomeChild(SIGTERM, parent);
  prctl(PR_SET_NAME, "cubeplane");
  const int code = RunPlane(options, places);
  std::fflush(nullptr);
  _exit(code);
}

// Waits until the node process answers on its socket, or has ended.
bool NodeIsUp(const Places& places, pid_t node) {
  for (int i = 0; i < 400; ++i) {
    struct stat socket{};
    if (stat(places.node_socket().c_str(), &socket) == 0 && S_ISSOCK(socket.st_mode)) return true;
    int status;
    if (waitpid(node, &status, WNOHANG) == node) return false;
    usleep(25'000);
  }
  return false;
}

// How long to wait before a child is started again: 0.3 s, doubling to 30 s while it keeps ending, anew after
// a quiet while. Never gives up: a full disk or a missing program may come right, and nobody else would start
// it.
class Restarts {
 public:
  Duration Next(Mono now) {
    if (now - last_ > kQuiet) wait_ = kFirst;
    last_ = now;
    const Duration wait = wait_;
    wait_ = std::min(kLongest, wait_ * 2);
    return wait;
  }

 private:
  static constexpr Duration kFirst = std::chrono::milliseconds(300), kLongest = std::chrono::seconds(30),
                            kQuiet = std::chrono::minutes(2);
  Mono last_{};
  Duration wait_ = kFirst;
};

void End(pid_t child) {
  if (child <= 0) return;
  kill(child, SIGTERM);
  for (int i = 0; i < kStopSeconds * 40; ++i) {
    int status;
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno == ECHILD)) return;
    usleep(25'000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// What this machine can hold of limits and walls, so that nobody has to find out later.
void PrintGuarantees() {
  Tell(cli::Text::kUpHolds);
  for (const engine::node::Guarantee& row : engine::node::Guarantees()) {
    const cli::Text hold = row.hold == engine::node::Hold::kHard     ? cli::Text::kUpHard
                           : row.hold == engine::node::Hold::kPartly ? cli::Text::kUpPartly
                                                                     : cli::Text::kUpNot;
    std::fprintf(stderr, "  %-10s %s  %s\n", row.what.c_str(), Words(hold).c_str(), row.how.c_str());
  }
}

// Waits; true as soon as TERM, INT or HUP comes. A SIGCHLD that comes meanwhile is looked for by the caller's
// next waitpid.
bool StopAskedWithin(const sigset_t& watched, Duration wait) {
  sigset_t stops = watched;
  sigdelset(&stops, SIGCHLD);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
  return sigtimedwait(&stops, nullptr, &time) > 0;
}

int Watch(const UpOptions& options, const Places& places) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, nullptr);

  unlink(places.node_socket().c_str());
  pid_t node = StartNode(options, places);
  if (!NodeIsUp(places, node)) {
    End(node);
    return 1;
  }
  pid_t plane = StartPlane(options, places);
  const pid_t first_plane = plane;
  SystemClock clock;
  Restarts restarts;
  const Mono started = clock.MonoNow();
  for (;;) {
    int signal = 0;
    sigwait(&watched, &signal);
    if (signal != SIGCHLD) break;
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      const bool killed = WIFSIGNALED(status);
      // A fault at start has said its sentence and ends all; later ones do not (decision 6).
      if (ended == first_plane && !killed && clock.MonoNow() - started < kStartTime) {
        End(node);
        return WEXITSTATUS(status);
      }
      if (ended != plane && ended != node) continue;
      const bool is_node = ended == node;
      const Duration wait = restarts.Next(clock.MonoNow());
      const std::string how = killed ? "signal " + std::to_string(WTERMSIG(status))
                                     : "code " + std::to_string(WEXITSTATUS(status));
      Tell(cli::Text::kUpAgain,
           {{"part", Words(is_node ? cli::Text::kUpNode : cli::Text::kUpPlane)},
            {"how", how},
            {"wait", wait < std::chrono::seconds(1) ? Words(cli::Text::kUpMoment) : FormatDuration(wait)}});
      if (StopAskedWithin(watched, wait)) {
        End(is_node ? plane : node);
        return 0;
      }
      (is_node ? node : plane) = is_node ? StartNode(options, places) : StartPlane(options, places);
    }
  }
  End(plane);
  End(node);
  return 0;
}

Result<void> EndGateway(const Places& places) {
  const std::string file = places.gateway_run();
  if (!std::filesystem::exists(file)) return {};
  gateway::GatewayOptions options{.run_folder = file,
                                  .state_folder = places.data + "/gateway",
                                  .platform_socket = places.platform_socket(),
                                  .instance = places.short_instance};
  static SystemClock clock;
  static SystemRandom random;
  async::Loop loop(clock);
  gateway::Gateway gateway(options, loop, random, [](const std::string&) {});
  return async::RunToEnd(loop, gateway.Stop(true));
}

}  // namespace

std::string SentenceOf(const Error& error) {
  if (!model::HasReason(error.reason)) return error.message;
  const model::Language language = cli::LanguageOfEnvironment();
  const std::string next = model::RenderNext(error.reason, error.params, language);
  return model::Render(error.reason, error.params, language) + (next.empty() ? "" : " " + next);
}

int UpMain(int argc, char** argv) {
  const Result<UpOptions> options = ParseOptions(argc, argv, 2);
  if (!options) return Say(options.error());
  if (options->help) {
    std::fputs(UpHelp().c_str(), stdout);
    return 0;
  }
  SystemClock clock;
  SystemRandom random;
  const Result<Places> places = Prepare(options->data, options->service_user, clock, random);
  if (!places) return Say(places.error());
  const Result<DataLock> lock = DataLock::Take(*places);
  if (!lock) return Say(lock.error());
  PrintGuarantees();
  return Watch(*options, *places);
}

int DownMain(int argc, char** argv) {
  const Result<UpOptions> options = ParseOptions(argc, argv, 2);
  if (!options) return Say(options.error());
  if (options->help) {
    std::puts(Words(cli::Text::kDownHelp).c_str());
    return 0;
  }
  const Result<Places> places = Open(options->data);
  if (!places) return Say(places.error());
  if (const std::optional<pid_t> holder = DataLock::Holder(*places)) {
    Tell(cli::Text::kDownStopping, {{"pid", std::to_string(*holder)}});
    if (kill(*holder, SIGTERM) != 0 && errno == EPERM) {
      return Say(Error(Code::kForbidden, "process " + std::to_string(*holder) + " belongs to another user"));
    }
    for (int i = 0; i < kStopSeconds * 40 && DataLock::Holder(*places); ++i) usleep(25'000);
    if (DataLock::Holder(*places)) return Say(Error(Code::kTimeout, "the control plane does not stop"));
  }
  Tell(cli::Text::kDownWork);
  const Result<void> swept = engine::node::SweepInstance(places->data);
  const Result<void> ended = EndGateway(*places);
  if (!swept) return Say(swept.error());
  if (!ended) return Say(ended.error());
  std::error_code ignored;
  std::filesystem::remove_all(places->run, ignored);
  std::filesystem::remove(places->endpoint_file(), ignored);
  Tell(cli::Text::kDownDone, {{"data", places->data}});
  return 0;
}

}  // namespace cubeplane::cmd
