// Users and passwords.
#include <algorithm>

#include "auth/auth.h"
#include "auth/query.h"

namespace cubeplane::auth {
namespace {

constexpr std::string_view kUserNameAllowed = "a-z, 0-9, and . _ - between them, at most 40 characters";

Error BadField(std::string path, std::string found, std::string allowed) {
  Error error(Code::kInvalid, "field_not_allowed", {{"field", path}, {"found", found}, {"allowed", allowed}},
              path + " is not allowed");
  error.fields.push_back({std::move(path), std::move(found), std::move(allowed)});
  return error;
}

Error NoSuchUser(const std::string& name) {
  return Error(Code::kNotFound, "user_not_found", {{"user", name}}, "there is no user " + name);
}

Error WrongPassword() {
  return Error(Code::kUnauthenticated, "wrong_password", {}, "user name or password is wrong");
}

Result<void> CheckNewPassword(const std::string& password) {
  if (password.size() >= kMinPassword && password.size() <= kMaxPassword) return {};
  return Fail(BadField("password", std::to_string(password.size()) + " bytes",
                       std::to_string(kMinPassword) + " to " + std::to_string(kMaxPassword) + " bytes"));
}

// 24 characters of 31: 118 bits, none that look alike.
std::string MakePassword(Random& random) {
  constexpr std::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
  std::string password;
  for (int i = 0; i < 24; ++i) {
    if (i != 0 && i % 6 == 0) password += '-';
    password += kAlphabet[random.Below(kAlphabet.size())];
  }
  return password;
}

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// The sessions of a user, taken out; their hashes.
Result<std::vector<std::string>> DropSessions(storage::Txn& txn, const std::string& user) {
  ASSIGN_OR_RETURN(std::vector<storage::SessionRow> sessions, txn.Sessions());
  std::vector<std::string> ended;
  for (const auto& session : sessions) {
    if (session.user == user) ended.push_back(session.id_hash);
  }
  RETURN_IF_ERROR(txn.DeleteSessionsOf(user));
  return ended;
}

}  // namespace

bool IsUserName(std::string_view name) {
  if (name.empty() || name.size() > kMaxUserName) return false;
  if (!IsLetterOrDigit(name.front()) || !IsLetterOrDigit(name.back())) return false;
  return std::ranges::all_of(name,
                             [](char c) { return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-'; });
}

Auth::Auth(storage::Store& store, async::Executor& executor, const Clock& clock, Random& random,
           Settings settings)
    : store_(store),
      executor_(executor),
      clock_(clock),
      random_(random),
      settings_(settings),
      hashing_(executor, settings.hash_threads),
      attempts_(settings.attempts) {}

async::Task<Result<std::string>> Auth::Hash(std::string password) {
  if (hashes_waiting_ >= settings_.max_hashes_waiting) {
    co_return Fail(Error(Code::kTooMany, "too_many_attempts", {{"seconds", "1"}},
                         "too many password hashes are waiting"));
  }
  ++hashes_waiting_;
  auto call = [password = std::move(password), cost = settings_.hash_cost] {
    return HashPassword(password, cost);
  };
  Result<std::string> hash = co_await hashing_.Run(std::move(call));
  --hashes_waiting_;
  co_return hash;
}

async::Task<Result<bool>> Auth::Verify(std::string hash, std::string password) {
  if (hashes_waiting_ >= settings_.max_hashes_waiting) {
    co_return Fail(Error(Code::kTooMany, "too_many_attempts", {{"seconds", "1"}},
                         "too many password hashes are waiting"));
  }
  ++hashes_waiting_;
  auto call = [hash = std::move(hash), password = std::move(password)] {
    return VerifyPassword(hash, password);
  };
  const bool right = co_await hashing_.Run(std::move(call));
  --hashes_waiting_;
  co_return right;
}

async::Task<Result<std::optional<std::string>>> Auth::Bootstrap() {
  Result<std::vector<storage::UserRow>> users = co_await Users();
  CO_RETURN_IF_ERROR(users);
  if (!users->empty()) co_return std::optional<std::string>();
  Result<std::string> password = co_await CreateUser("admin", "", true, "");
  CO_RETURN_IF_ERROR(password);
  co_return std::optional<std::string>(*password);
}

async::Task<Result<std::string>> Auth::CreateUser(std::string name, std::string display_name, bool admin,
                                                  std::string password) {
  if (!IsUserName(name)) co_return Fail(BadField("name", name, std::string(kUserNameAllowed)));
  const bool made = password.empty();
  if (made) password = MakePassword(random_);
  const Result<void> allowed = CheckNewPassword(password);
  CO_RETURN_IF_ERROR(allowed);
  Result<std::string> hash = co_await Hash(password);
  CO_RETURN_IF_ERROR(hash);
  storage::UserRow row{name, std::move(display_name), *hash, admin, false, clock_.Now()};
  std::function<Result<void>(storage::Txn&)> change = [row](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(std::optional<storage::UserRow> there, txn.GetUser(row.name));
    if (there)
      return Fail(
          Error(Code::kAlreadyExists, "user_exists", {{"user", row.name}}, "there is a user " + row.name));
    return txn.PutUser(row);
  };
  Result<void> done = co_await store_.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return made ? password : std::string();
}

async::Task<Result<Auth::ChangedUser>> Auth::UpdateUser(std::string name, UserChange change) {
  std::function<Result<ChangedUser>(storage::Txn&)> apply =
      [name, change](storage::Txn& txn) -> Result<ChangedUser> {
    ASSIGN_OR_RETURN(std::optional<storage::UserRow> there, txn.GetUser(name));
    if (!there) return Fail(NoSuchUser(name));
    ChangedUser changed{*there, {}};
    if (change.display_name) changed.row.display_name = *change.display_name;
    if (change.admin) changed.row.admin = *change.admin;
    if (change.disabled) changed.row.disabled = *change.disabled;
    RETURN_IF_ERROR(txn.PutUser(changed.row));
    if (!changed.row.disabled) return changed;
    ASSIGN_OR_RETURN(std::vector<storage::TokenRow> tokens, txn.TokensOf(name));
    for (const auto& token : tokens) RETURN_IF_ERROR(txn.DeleteToken(name, token.id));
    ASSIGN_OR_RETURN(changed.ended_sessions, DropSessions(txn, name));
    return changed;
  };
  Result<ChangedUser> changed = co_await Change<ChangedUser>(store_, std::move(apply));
  co_return changed;
}

async::Task<Result<std::vector<std::string>>> Auth::SetPassword(std::string name, std::string password,
                                                                std::optional<std::string> current) {
  const Result<void> allowed = CheckNewPassword(password);
  CO_RETURN_IF_ERROR(allowed);
  if (current) {
    Result<storage::UserRow> right = co_await CheckPassword(name, *current);
    CO_RETURN_IF_ERROR(right);
  }
  Result<std::string> hash = co_await Hash(password);
  CO_RETURN_IF_ERROR(hash);
  using Hashes = std::vector<std::string>;
  std::function<Result<Hashes>(storage::Txn&)> change = [name,
                                                         hash = *hash](storage::Txn& txn) -> Result<Hashes> {
    ASSIGN_OR_RETURN(std::optional<storage::UserRow> row, txn.GetUser(name));
    if (!row) return Fail(NoSuchUser(name));
    row->password_hash = hash;
    RETURN_IF_ERROR(txn.PutUser(*row));
    return DropSessions(txn, name);
  };
  Result<Hashes> ended = co_await Change<Hashes>(store_, std::move(change));
  co_return ended;
}

async::Task<Result<storage::UserRow>> Auth::GetUser(std::string name) {
  std::function<Result<storage::UserRow>(storage::Reader&)> look =
      [name](storage::Reader& reader) -> Result<storage::UserRow> {
    ASSIGN_OR_RETURN(std::optional<storage::UserRow> row, reader.GetUser(name));
    if (!row) return Fail(NoSuchUser(name));
    return *row;
  };
  Result<storage::UserRow> row = co_await Query<storage::UserRow>(store_, std::move(look));
  co_return row;
}

async::Task<Result<std::vector<storage::UserRow>>> Auth::Users() {
  using Rows = std::vector<storage::UserRow>;
  std::function<Result<Rows>(storage::Reader&)> look = [](storage::Reader& reader) { return reader.Users(); };
  Result<Rows> rows = co_await Query<Rows>(store_, std::move(look));
  co_return rows;
}

async::Task<Result<storage::UserRow>> Auth::CheckPassword(std::string user, std::string password) {
  const Result<void> allowed = attempts_.Begin(user, clock_.MonoNow());
  CO_RETURN_IF_ERROR(allowed);
  if (password.size() > kMaxPassword) co_return Fail(WrongPassword());
  if (decoy_hash_.empty()) {
    Result<std::string> decoy = co_await Hash(NewSecret(random_));
    CO_RETURN_IF_ERROR(decoy);
    decoy_hash_ = *decoy;
  }
  Result<storage::UserRow> row = co_await GetUser(user);
  if (!row && row.error().code != Code::kNotFound) co_return row;
  const bool can = row && !row->disabled && !row->password_hash.empty();
  // Unknown and disabled users cost the same work, so that time does not tell who exists.
  Result<bool> right = co_await Verify(can ? row->password_hash : decoy_hash_, std::move(password));
  CO_RETURN_IF_ERROR(right);
  if (!can || !*right) co_return Fail(WrongPassword());
  attempts_.Succeeded(user);
  co_return row;
}

}  // namespace cubeplane::auth
