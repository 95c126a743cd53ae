// Sessions of the platform and of the workloads' origins.
#include <algorithm>

#include "auth/auth.h"
#include "auth/query.h"
#include "base/strings.h"

namespace cubeplane::auth {
namespace {

Error NotSignedIn() { return Error(Code::kUnauthenticated, "not_signed_in", {}, "not signed in"); }

struct Found {
  storage::SessionRow session;
  storage::UserRow user;
};

Result<Found> FindSession(storage::Reader& reader, const std::string& hash, const std::string& host,
                          Time now) {
  ASSIGN_OR_RETURN(std::optional<storage::SessionRow> session, reader.GetSession(hash));
  if (!session || session->host != host || session->expires <= now) return Fail(NotSignedIn());
  ASSIGN_OR_RETURN(std::optional<storage::UserRow> user, reader.GetUser(session->user));
  if (!user || user->disabled) return Fail(NotSignedIn());
  return Found{*session, *user};
}

}  // namespace

async::Task<Result<NewSession>> Auth::OpenSession(std::string user, std::string host,
                                                  std::string parent_hash) {
  const bool origin = host != settings_.platform_host;
  const Time now = clock_.Now();
  NewSession made;
  made.secret = NewSecret(random_);
  made.row = {Sha256Hex(made.secret),
              user,
              host,
              parent_hash,
              now,
              now + (origin ? settings_.origin_session : settings_.session_sliding),
              now};
  std::function<Result<void>(storage::Txn&)> change = [row = made.row,
                                                       now](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(std::optional<storage::UserRow> user, txn.GetUser(row.user));
    if (!user || user->disabled) return Fail(NotSignedIn());
    // Signing out between the code and its redemption ends what would come from it.
    if (!row.parent_hash.empty()) {
      ASSIGN_OR_RETURN(std::optional<storage::SessionRow> parent, txn.GetSession(row.parent_hash));
      if (!parent || parent->expires <= now) return Fail(NotSignedIn());
    }
    return txn.PutSession(row);
  };
  Result<void> done = co_await store_.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return made;
}

async::Task<Result<Principal>> Auth::FromSession(std::string secret, std::string host) {
  const Time now = clock_.Now();
  std::function<Result<Found>(storage::Reader&)> look = [hash = Sha256Hex(secret), host,
                                                         now](storage::Reader& reader) {
    return FindSession(reader, hash, host, now);
  };
  Result<Found> found = co_await Query<Found>(store_, std::move(look));
  CO_RETURN_IF_ERROR(found);
  storage::SessionRow session = found->session;
  if (session.host == settings_.platform_host && now - session.last_seen >= settings_.session_touch) {
    session.last_seen = now;
    session.expires = std::min(session.created + settings_.session_max, now + settings_.session_sliding);
    std::function<Result<void>(storage::Txn&)> touch = [session](storage::Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(std::optional<storage::SessionRow> there, txn.GetSession(session.id_hash));
      if (!there) return {};  // ended meanwhile: stays ended
      return txn.PutSession(session);
    };
    // A store that cannot write must not sign people out: the session stands until its old end.
    Result<void> touched = co_await store_.Write(std::move(touch));
    if (!touched && !Retryable(touched.error().code) && touched.error().code != Code::kStoreFull)
      co_return Fail(touched.error());
  }
  co_return Principal{found->user.name, found->user.admin, false, Principal::Via::kSession, session.id_hash};
}

async::Task<Result<std::vector<std::string>>> Auth::EndSession(std::string id_hash) {
  using Hashes = std::vector<std::string>;
  std::function<Result<Hashes>(storage::Txn&)> change = [id_hash](storage::Txn& txn) -> Result<Hashes> {
    ASSIGN_OR_RETURN(std::vector<storage::SessionRow> sessions, txn.Sessions());
    Hashes ended{id_hash};
    for (const auto& session : sessions) {
      if (session.parent_hash == id_hash) ended.push_back(session.id_hash);
    }
    RETURN_IF_ERROR(txn.DeleteSession(id_hash));
    return ended;
  };
  Result<Hashes> ended = co_await Change<Hashes>(store_, std::move(change));
  co_return ended;
}

async::Task<Result<std::vector<std::string>>> Auth::EndSessionsOf(std::string user) {
  using Hashes = std::vector<std::string>;
  std::function<Result<Hashes>(storage::Txn&)> change = [user](storage::Txn& txn) -> Result<Hashes> {
    ASSIGN_OR_RETURN(std::vector<storage::SessionRow> sessions, txn.Sessions());
    Hashes ended;
    for (const auto& session : sessions) {
      if (session.user == user) ended.push_back(session.id_hash);
    }
    RETURN_IF_ERROR(txn.DeleteSessionsOf(user));
    return ended;
  };
  Result<Hashes> ended = co_await Change<Hashes>(store_, std::move(change));
  co_return ended;
}

}  // namespace cubeplane::auth
