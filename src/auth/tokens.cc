// API tokens.
#include "auth/auth.h"
#include "auth/query.h"
#include "base/strings.h"

namespace cubeplane::auth {
namespace {

constexpr std::string_view kTokenPrefix = "cpt_";
// last_used is written at most this often.
constexpr Duration kTokenTouch = std::chrono::hours(1);

Error BadToken() {
  return Error(Code::kUnauthenticated, "bad_token", {}, "the token is unknown, revoked or expired");
}

struct Found {
  storage::TokenRow token;
  storage::UserRow user;
};

Result<Found> FindToken(storage::Reader& reader, const std::string& hash, Time now) {
  ASSIGN_OR_RETURN(std::optional<storage::TokenRow> token, reader.GetTokenByHash(hash));
  if (!token || (token->expires && *token->expires <= now)) return Fail(BadToken());
  ASSIGN_OR_RETURN(std::optional<storage::UserRow> user, reader.GetUser(token->user));
  if (!user || user->disabled) return Fail(BadToken());
  return Found{*token, *user};
}

}  // namespace

async::Task<Result<Principal>> Auth::FromToken(std::string secret) {
  if (!secret.starts_with(kTokenPrefix)) co_return Fail(BadToken());
  const Time now = clock_.Now();
  std::function<Result<Found>(storage::Reader&)> look =
      [hash = Sha256Hex(secret), now](storage::Reader& reader) { return FindToken(reader, hash, now); };
  Result<Found> found = co_await Query<Found>(store_, std::move(look));
  CO_RETURN_IF_ERROR(found);
  const storage::TokenRow& token = found->token;
  if (!token.last_used || now - *token.last_used >= kTokenTouch) {
    std::function<Result<void>(storage::Txn&)> touch = [hash = token.hash,
                                                        now](storage::Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(std::optional<storage::TokenRow> there, txn.GetTokenByHash(hash));
      if (!there) return {};  // revoked meanwhile: stays revoked
      there->last_used = now;
      return txn.PutToken(*there);
    };
    // Only a note of use: a store that cannot write must not refuse who may read.
    [[maybe_unused]] Result<void> touched = co_await store_.Write(std::move(touch));
  }
  co_return Principal{found->user.name, found->user.admin, token.scope == "read", Principal::Via::kToken,
                      token.id};
}

async::Task<Result<NewToken>> Auth::CreateToken(std::string user, std::string label, std::string scope,
                                                std::optional<Duration> lifetime) {
  const Time now = clock_.Now();
  NewToken made;
  made.secret = std::string(kTokenPrefix) + NewSecret(random_);
  made.row = {NewUuid(clock_, random_), Sha256Hex(made.secret), user, label, scope, now, {}, {}};
  if (lifetime) made.row.expires = now + *lifetime;
  std::function<Result<void>(storage::Txn&)> change =
      [row = made.row, now, most = settings_.max_tokens_per_user](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(std::vector<storage::TokenRow> tokens, txn.TokensOf(row.user));
    size_t living = 0;
    for (const auto& token : tokens) {
      if (token.expires && *token.expires <= now) {
        RETURN_IF_ERROR(txn.DeleteToken(row.user, token.id));
      } else {
        ++living;
      }
    }
    if (living >= most) {
      return Fail(Error(Code::kTooMany, "too_many_tokens", {{"limit", std::to_string(most)}},
                        "the user has too many tokens"));
    }
    return txn.PutToken(row);
  };
  Result<void> done = co_await store_.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return made;
}

async::Task<Result<std::vector<storage::TokenRow>>> Auth::TokensOf(std::string user) {
  using Rows = std::vector<storage::TokenRow>;
  std::function<Result<Rows>(storage::Reader&)> look = [user](storage::Reader& reader) {
    return reader.TokensOf(user);
  };
  Result<Rows> rows = co_await Query<Rows>(store_, std::move(look));
  co_return rows;
}

async::Task<Result<void>> Auth::DeleteToken(std::string user, std::string id) {
  std::function<Result<void>(storage::Txn&)> change = [user, id](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(bool gone, txn.DeleteToken(user, id));
    if (!gone) return Fail(Error(Code::kNotFound, "token_not_found", {{"id", id}}, "there is no such token"));
    return {};
  };
  Result<void> done = co_await store_.Write(std::move(change));
  co_return done;
}

}  // namespace cubeplane::auth
