// Users, passwords, sessions, API tokens, one-time links and sign-in codes, on the store. Secrets are stored
// hashed and given out once.
//
// Threading: on the control thread; password hashes run on threads of their own, at most two at once.
// Lifetime: store and executor outlive it. Errors carry reasons of api/reasons.yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/pool.h"
#include "async/task.h"
#include "auth/attempts.h"
#include "auth/secrets.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "storage/store.h"

namespace cubeplane::auth {

struct Principal {
  enum class Via { kSocket, kToken, kSession };
  std::string user;
  bool admin = false;
  bool read_only = false;  // a token of scope "read"
  Via via = Via::kSocket;
  std::string credential;  // hash of the session, id of the token
};

struct Settings {
  std::string platform_host =
      "localhost";  // sessions of other hosts are those of workloads: they do not slide
  Duration session_sliding = std::chrono::hours(12);
  Duration session_max = std::chrono::hours(24 * 7);
  Duration session_touch = std::chrono::minutes(5);  // last_seen is written at most this often
  Duration origin_session = std::chrono::hours(8);
  Duration link = std::chrono::minutes(10);
  Duration code = std::chrono::seconds(30);
  Duration login_token = std::chrono::hours(24 * 30);  // what log-in on the command line gives
  HashCost hash_cost;
  size_t hash_threads = 2;  // 0: inline, for tests
  size_t max_hashes_waiting = 32;
  size_t max_tokens_per_user = 50;
  Attempts::Settings attempts;
};
inline constexpr size_t kMinPassword = 10, kMaxPassword = 1024, kMaxUserName = 40;

struct NewToken {
  std::string secret;  // "cpt_…", shown once
  storage::TokenRow row;
};
struct NewSession {
  std::string secret;  // the cookie's value
  storage::SessionRow row;
};
struct Link {
  std::string secret;
  Time expires;
};
// What a redeemed link or code allows: a session of `user` on `host`, ended with the session `parent_hash`.
struct OriginGrant {
  std::string user, host, parent_hash, workload_uid;
  std::string next;  // of a code: where to go
};
struct CodeBinding {
  std::string host, port, state, next;
};

class Auth {
 public:
  Auth(storage::Store& store, async::Executor& executor, const Clock& clock, Random& random,
       Settings settings);

  // Makes the user `admin` when there are no users at all; gives its password then.
  async::Task<Result<std::optional<std::string>>> Bootstrap();

  // ---- Users
  // kInvalid for name or password, kAlreadyExists. With an empty password one is made; the answer is that,
  // else "".
  async::Task<Result<std::string>> CreateUser(std::string name, std::string display_name, bool admin,
                                              std::string password);
  // Changes what is given. Disabling ends sessions and tokens; gives the hashes of ended sessions (for the
  // gateway).
  struct UserChange {
    std::optional<std::string> display_name;
    std::optional<bool> admin, disabled;
  };
  struct ChangedUser {
    storage::UserRow row;
    std::vector<std::string> ended_sessions;
  };
  async::Task<Result<ChangedUser>> UpdateUser(std::string name, UserChange change);
  // Ends all sessions of the user; gives their hashes. With `current` the present password must be that.
  async::Task<Result<std::vector<std::string>>> SetPassword(std::string name, std::string password,
                                                            std::optional<std::string> current);
  async::Task<Result<storage::UserRow>> GetUser(std::string name);  // kNotFound
  async::Task<Result<std::vector<storage::UserRow>>> Users();

  // ---- Signing in
  // kUnauthenticated alike for a wrong name, a wrong password and a disabled user, after the same work;
  // kTooMany.
  async::Task<Result<storage::UserRow>> CheckPassword(std::string user, std::string password);
  // A session of the platform (no parent) or of a workload's origin.
  async::Task<Result<NewSession>> OpenSession(std::string user, std::string host, std::string parent_hash);
  // kUnauthenticated when it is not a living session of `host`. Platform sessions slide.
  async::Task<Result<Principal>> FromSession(std::string secret, std::string host);
  async::Task<Result<Principal>> FromToken(std::string secret);
  // Ends the session and what came from it; gives all hashes.
  async::Task<Result<std::vector<std::string>>> EndSession(std::string id_hash);
  async::Task<Result<std::vector<std::string>>> EndSessionsOf(std::string user);

  // ---- Tokens
  async::Task<Result<NewToken>> CreateToken(std::string user, std::string label, std::string scope,
                                            std::optional<Duration> lifetime);
  async::Task<Result<std::vector<storage::TokenRow>>> TokensOf(std::string user);
  async::Task<Result<void>> DeleteToken(std::string user, std::string id);  // kNotFound

  // ---- Links and codes: good once
  async::Task<Result<Link>> MakeLink(std::string user, std::string host, std::string workload_uid,
                                     std::string parent_hash);
  async::Task<Result<OriginGrant>> RedeemLink(std::string secret, std::string host);  // kGone
  async::Task<Result<std::string>> MakeCode(std::string user, std::string parent_hash, CodeBinding binding);
  // kGone unless host, port and state are those of the code; the code is used up either way.
  async::Task<Result<OriginGrant>> RedeemCode(std::string secret, std::string host, std::string port,
                                              std::string state);

  const Settings& settings() const { return settings_; }

 private:
  async::Task<Result<std::string>> Hash(std::string password);
  async::Task<Result<bool>> Verify(std::string hash, std::string password);
  async::Task<Result<storage::OneTimeRow>> TakeOneTime(std::string secret, std::string purpose,
                                                       std::string host);

  storage::Store& store_;
  async::Executor& executor_;
  const Clock& clock_;
  Random& random_;
  const Settings settings_;
  async::BlockingPool hashing_;
  size_t hashes_waiting_ = 0;
  std::string decoy_hash_;  // what unknown users are checked against
  Attempts attempts_;
};

// "a–z, 0–9, . _ -" of at most 40, beginning and ending with a letter or digit.
bool IsUserName(std::string_view name);

}  // namespace cubeplane::auth
