#include "auth/auth.h"

#include <gtest/gtest.h>

#include <set>

#include "async/group.h"
#include "async/manual_executor.h"
#include "base/strings.h"
#include "storage/sqlite/sqlite.h"

namespace cubeplane::auth {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class AuthTest : public ::testing::Test {
 protected:
  AuthTest() {
    auto store = storage::OpenSqlite(executor_, clock_, {.path = ":memory:", .inline_mode = true});
    EXPECT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    settings_.hash_cost = {1, 8192};
    settings_.hash_threads = 0;
    auth_ = std::make_unique<Auth>(*store_, executor_, clock_, random_, settings_);
  }

  template <class T>
  T Run(async::Task<T> task) {
    std::optional<T> value;
    async::TaskGroup group(executor_);
    group.Spawn(Into(std::move(task), value));
    executor_.RunUntilIdle();
    EXPECT_TRUE(value) << "the task did not end";
    return std::move(*value);
  }
  template <class T>
  static async::Task<void> Into(async::Task<T> task, std::optional<T>& value) {
    T result = co_await std::move(task);
    value.emplace(std::move(result));
  }
  void AddUser(std::string name) {
    ASSERT_TRUE(Run(auth_->CreateUser(std::move(name), "", false, "long enough")));
  }
  NewSession SignIn(std::string user, std::string host = "localhost", std::string parent = "") {
    auto session = Run(auth_->OpenSession(std::move(user), std::move(host), std::move(parent)));
    EXPECT_TRUE(session);
    return *session;
  }

  ManualClock clock_;
  async::ManualExecutor executor_{clock_};
  SeededRandom random_{7};
  Settings settings_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<Auth> auth_;
};

TEST_F(AuthTest, FirstStartMakesAnAdminOnceAndStoresNoPassword) {
  const auto first = Run(auth_->Bootstrap());
  ASSERT_TRUE(first && *first);
  const auto row = Run(auth_->CheckPassword("admin", **first));
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->admin);
  EXPECT_TRUE(row->password_hash.starts_with("$argon2id$"));
  EXPECT_EQ(row->password_hash.find(**first), std::string::npos);
  const auto second = Run(auth_->Bootstrap());
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
}

TEST_F(AuthTest, WrongNameWrongPasswordAndDisabledUserAreToldAlike) {
  AddUser("ann");
  AddUser("off");
  ASSERT_TRUE(Run(auth_->UpdateUser("off", {.disabled = true})));
  for (const auto& [user, password] :
       {std::pair("ann", "wrong one!"), {"nobody", "long enough"}, {"off", "long enough"}}) {
    const auto row = Run(auth_->CheckPassword(user, password));
    ASSERT_FALSE(row) << user;
    EXPECT_EQ(row.error().code, Code::kUnauthenticated);
    EXPECT_EQ(row.error().reason, "wrong_password");
  }
}

TEST_F(AuthTest, GuessingIsSlowedPerAccountAndForgivenOnSuccess) {
  AddUser("ann");
  AddUser("bob");
  for (int i = 0; i < settings_.attempts.free_failures; ++i) {
    EXPECT_EQ(Run(auth_->CheckPassword("ann", "wrong one!")).error().code, Code::kUnauthenticated);
  }
  const auto blocked = Run(auth_->CheckPassword("ann", "long enough"));
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, Code::kTooMany);
  EXPECT_TRUE(Run(auth_->CheckPassword("bob", "long enough"))) << "another account is not touched";
  clock_.Advance(seconds(2));
  EXPECT_TRUE(Run(auth_->CheckPassword("ann", "long enough")));
  EXPECT_EQ(Run(auth_->CheckPassword("ann", "wrong one!")).error().code, Code::kUnauthenticated);
}

TEST_F(AuthTest, GuessingOverManyAccountsMeetsTheGlobalLimit) {
  Attempts attempts({});
  int passed = 0;
  for (int i = 0; i < 1000; ++i)
    passed += attempts.Begin("user" + std::to_string(i), clock_.MonoNow()).has_value() ? 1 : 0;
  EXPECT_EQ(passed, Attempts::Settings().global_burst);
  clock_.Advance(seconds(3));
  for (int i = 0; i < 10; ++i)
    passed += attempts.Begin("late" + std::to_string(i), clock_.MonoNow()).has_value() ? 1 : 0;
  EXPECT_EQ(passed, Attempts::Settings().global_burst + 3);
}

TEST_F(AuthTest, BadNamesAndShortPasswordsAreRefusedWithTheField) {
  for (const char* name : {"", "Ann", "a b", "-a", "a-", "a/b", "../x", "a\nb"}) {
    const auto made = Run(auth_->CreateUser(name, "", false, "long enough"));
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().fields.front().path, "name");
  }
  const auto made = Run(auth_->CreateUser("ann", "", false, "short"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().fields.front().path, "password");
  EXPECT_EQ(made.error().fields.front().found.find("short"), std::string::npos);
  AddUser("ann");
  EXPECT_EQ(Run(auth_->CreateUser("ann", "", false, "long enough")).error().code, Code::kAlreadyExists);
}

TEST_F(AuthTest, ASessionIsGoodForItsHostOnlyAndIsStoredHashed) {
  AddUser("ann");
  const NewSession session = SignIn("ann");
  EXPECT_EQ(session.secret.size(), 64u);
  EXPECT_EQ(session.row.id_hash, Sha256Hex(session.secret));
  const auto principal = Run(auth_->FromSession(session.secret, "localhost"));
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->user, "ann");
  EXPECT_FALSE(Run(auth_->FromSession(session.secret, "nb--demo.localhost")));
  EXPECT_FALSE(Run(auth_->FromSession(session.row.id_hash, "localhost"))) << "the stored hash is no key";
}

TEST_F(AuthTest, APlatformSessionSlidesForTwelveHoursAndEndsAfterSevenDays) {
  AddUser("ann");
  const NewSession session = SignIn("ann");
  for (int i = 0; i < 16; ++i) {
    clock_.Advance(hours(10));
    ASSERT_TRUE(Run(auth_->FromSession(session.secret, "localhost"))) << i;
  }
  clock_.Advance(hours(9));  // 169 hours since it began
  EXPECT_FALSE(Run(auth_->FromSession(session.secret, "localhost")));
  const NewSession idle = SignIn("ann");
  clock_.Advance(hours(12));
  EXPECT_FALSE(Run(auth_->FromSession(idle.secret, "localhost")));
}

TEST_F(AuthTest, AnOriginsSessionLivesEightHoursAndDoesNotSlide) {
  AddUser("ann");
  const NewSession session = SignIn("ann", "nb--demo.localhost");
  clock_.Advance(hours(7));
  EXPECT_TRUE(Run(auth_->FromSession(session.secret, "nb--demo.localhost")));
  clock_.Advance(hours(1));
  EXPECT_FALSE(Run(auth_->FromSession(session.secret, "nb--demo.localhost")));
}

TEST_F(AuthTest, EndingASessionEndsWhatCameFromIt) {
  AddUser("ann");
  const NewSession platform = SignIn("ann");
  const NewSession origin = SignIn("ann", "nb--demo.localhost", platform.row.id_hash);
  const NewSession other = SignIn("ann");
  const auto ended = Run(auth_->EndSession(platform.row.id_hash));
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::set<std::string>(ended->begin(), ended->end()),
            (std::set<std::string>{platform.row.id_hash, origin.row.id_hash}));
  EXPECT_FALSE(Run(auth_->FromSession(origin.secret, "nb--demo.localhost")));
  EXPECT_TRUE(Run(auth_->FromSession(other.secret, "localhost")));
  EXPECT_FALSE(Run(auth_->OpenSession("ann", "nb--demo.localhost", platform.row.id_hash)))
      << "its code comes too late";
}

TEST_F(AuthTest, DisablingAUserEndsSessionsAndTokens) {
  AddUser("ann");
  const NewSession session = SignIn("ann");
  const auto token = Run(auth_->CreateToken("ann", "laptop", "", {}));
  ASSERT_TRUE(token);
  const auto changed = Run(auth_->UpdateUser("ann", {.disabled = true}));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->ended_sessions, std::vector{session.row.id_hash});
  EXPECT_FALSE(Run(auth_->FromSession(session.secret, "localhost")));
  EXPECT_FALSE(Run(auth_->FromToken(token->secret)));
  EXPECT_FALSE(Run(auth_->OpenSession("ann", "localhost", "")));
}

TEST_F(AuthTest, ANewPasswordEndsAllSessionsAndTheOldPassword) {
  AddUser("ann");
  SignIn("ann");
  EXPECT_FALSE(Run(auth_->SetPassword("ann", "another long one", "not the present one")));
  const auto ended = Run(auth_->SetPassword("ann", "another long one", "long enough"));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->size(), 1u);
  EXPECT_FALSE(Run(auth_->CheckPassword("ann", "long enough")));
  EXPECT_TRUE(Run(auth_->CheckPassword("ann", "another long one")));
}

TEST_F(AuthTest, ATokenIsShownOnceAndCanBeRevokedExpireAndOnlyRead) {
  AddUser("ann");
  const auto token = Run(auth_->CreateToken("ann", "ci", "read", hours(1)));
  ASSERT_TRUE(token);
  EXPECT_TRUE(token->secret.starts_with("cpt_"));
  EXPECT_EQ(token->row.hash, Sha256Hex(token->secret));
  const auto principal = Run(auth_->FromToken(token->secret));
  ASSERT_TRUE(principal);
  EXPECT_TRUE(principal->read_only);
  clock_.Advance(hours(1));
  EXPECT_FALSE(Run(auth_->FromToken(token->secret)));
  const auto second = Run(auth_->CreateToken("ann", "ci", "", {}));
  ASSERT_TRUE(second);
  EXPECT_FALSE(Run(auth_->DeleteToken("bob", second->row.id))) << "another's token";
  EXPECT_TRUE(Run(auth_->DeleteToken("ann", second->row.id)));
  EXPECT_EQ(Run(auth_->FromToken(second->secret)).error().reason, "bad_token");
  EXPECT_FALSE(Run(auth_->FromToken("cpt_")));
}

TEST_F(AuthTest, TokensAreBoundedAndExpiredOnesMakeRoom) {
  AddUser("ann");
  for (size_t i = 0; i < settings_.max_tokens_per_user; ++i)
    ASSERT_TRUE(Run(auth_->CreateToken("ann", "", "", hours(1))));
  EXPECT_EQ(Run(auth_->CreateToken("ann", "", "", {})).error().code, Code::kTooMany);
  clock_.Advance(hours(2));
  EXPECT_TRUE(Run(auth_->CreateToken("ann", "", "", {})));
}

TEST_F(AuthTest, ALinkIsRedeemedOnceOnItsHostWithinTenMinutes) {
  AddUser("ann");
  const auto link = Run(auth_->MakeLink("ann", "nb--demo.localhost", "uid-1", ""));
  ASSERT_TRUE(link);
  const auto grant = Run(auth_->RedeemLink(link->secret, "nb--demo.localhost"));
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->user, "ann");
  EXPECT_EQ(grant->workload_uid, "uid-1");
  EXPECT_EQ(Run(auth_->RedeemLink(link->secret, "nb--demo.localhost")).error().code, Code::kGone);

  const auto foreign = Run(auth_->MakeLink("ann", "nb--demo.localhost", "uid-1", ""));
  EXPECT_EQ(Run(auth_->RedeemLink(foreign->secret, "other--demo.localhost")).error().code, Code::kGone);
  EXPECT_EQ(Run(auth_->RedeemLink(foreign->secret, "nb--demo.localhost")).error().code, Code::kGone)
      << "used up by the wrong host";

  const auto late = Run(auth_->MakeLink("ann", "nb--demo.localhost", "uid-1", ""));
  clock_.Advance(minutes(10));
  EXPECT_EQ(Run(auth_->RedeemLink(late->secret, "nb--demo.localhost")).error().code, Code::kGone);
}

TEST_F(AuthTest, ACodeIsBoundToHostPortAndStateAndLivesThirtySeconds) {
  const CodeBinding binding{"nb--demo.localhost", ":8080", "state-a", "/lab?x=1"};
  const auto code = [&] { return *Run(auth_->MakeCode("ann", "parent", binding)); };
  const auto grant = Run(auth_->RedeemCode(code(), binding.host, binding.port, binding.state));
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->next, "/lab?x=1");
  EXPECT_EQ(grant->parent_hash, "parent");
  EXPECT_FALSE(Run(auth_->RedeemCode(code(), "other--demo.localhost", ":8080", "state-a")));
  EXPECT_FALSE(Run(auth_->RedeemCode(code(), binding.host, ":9090", "state-a")));
  EXPECT_FALSE(Run(auth_->RedeemCode(code(), binding.host, ":8080", "state-b")));
  const std::string twice = code();
  EXPECT_FALSE(Run(auth_->RedeemCode(twice, binding.host, ":8080", "state-b")));
  EXPECT_FALSE(Run(auth_->RedeemCode(twice, binding.host, ":8080", "state-a")))
      << "used up by the wrong state";
  EXPECT_FALSE(Run(auth_->RedeemLink(code(), binding.host))) << "a code is no link";
  const std::string late = code();
  clock_.Advance(seconds(30));
  EXPECT_FALSE(Run(auth_->RedeemCode(late, binding.host, ":8080", "state-a")));
}

TEST(Secrets, ManyHashesAtOnceAreRefusedBeyondTheBound) {
  ManualClock clock;
  async::ManualExecutor executor(clock);
  SeededRandom random(3);
  auto store = storage::OpenSqlite(executor, clock, {.path = ":memory:", .inline_mode = true});
  ASSERT_TRUE(store);
  Settings settings;
  settings.hash_cost = {1, 8192};
  settings.hash_threads = 2;
  settings.max_hashes_waiting = 3;
  Auth auth(**store, executor, clock, random, settings);
  int refused = 0, done = 0;
  const auto create = [](Auth& auth, int number, int& refused, int& done) -> async::Task<void> {
    std::string name = "user" + std::to_string(number);
    Result<std::string> made = co_await auth.CreateUser(std::move(name), "", false, "long enough");
    ++(made ? done : refused);
  };
  async::TaskGroup group(executor);
  for (int i = 0; i < 10; ++i) group.Spawn(create(auth, i, refused, done));
  // The hashes come back from threads of their own.
  while (group.running() > 0) executor.RunUntilIdle();
  EXPECT_GE(done, 3);
  EXPECT_GE(refused, 1);
}

}  // namespace
}  // namespace cubeplane::auth
