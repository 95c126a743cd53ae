// The ledger's store: one narrow interface, one contract suite (testing/store_contract.h), SQLite first.
//
// A write is a function that runs inside a transaction on the writer's thread. Many writes share one commit
// and one sync (group commit), each in a savepoint of its own: when its function fails, only its own changes
// go. The caller is resumed after the sync that covers its write, and the listeners have heard of its events
// before.
//
// Threading: Write, Read and OnCommit on the executor. The functions run on other threads (inline in the
// simulation): they must own what they capture, and touch nothing else.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "base/quantity.h"
#include "base/result.h"

namespace cubeplane::storage {

// A stored object of any kind: what the change feed is about.
struct ObjectRow {
  std::string kind;                // "Project", "Notebook", "TrainingJob"
  std::string uid, project, name;  // (kind, project, name) is unique among living objects
  int64_t resource_version = 0;    // the feed's number of its last change
  std::string json;                // model::ToJson, compact
};
struct FeedEvent {
  int64_t seq = 0;
  bool deleted = false;
  ObjectRow object;  // the last state when deleted
};

struct BindingRow {
  std::string id;  // "<project uid>/<cluster>"
  std::string project, cluster;
  int64_t version = 1;  // raised with each change of the quota
  std::string json;     // model::Binding
};

enum class ReservationState { kReserved, kSent, kReleased };
struct ReservationRow {
  std::string workload_uid;
  int32_t attempt = 1;
  std::string binding_id, pool;
  std::string resource;  // quota key: "requests.cpu"; unique per (workload, attempt, resource) while it lives
  Quantity amount;       // exact; stored as a whole number of 10^-3 in decimal text
  ReservationState state = ReservationState::kReserved;
};

struct WorkloadRow {  // what the queue needs, apart from the object
  std::string uid, kind, project, name;
  int64_t arrival = 0;     // order of acceptance, from the store's own counter
  std::string phase;       // model::PhaseName
  std::string binding_id;  // of the present reservation; empty while waiting
};

struct SentMark {
  std::string workload_uid;
  int32_t attempt = 1;
  std::string cluster, cluster_identity, namespace_uid;
  Time at;
};

struct IdempotencyRow {
  std::string principal, key;  // unique together
  std::string method, path, body_sha256;
  int status = 0;
  std::string answer;  // body; empty for answers that held a secret (not replayed)
  std::string object_uid;
  Time at;
};

struct AuditRow {
  int64_t seq = 0;  // set by the store
  Time at;
  std::string principal, action, object, request_id;
  std::string before, after;  // JSON, secrets taken out
  std::string previous_hash,
      hash;  // SHA-256 over the canonical record and the hash before it; set by the store
};

struct NameClaim {  // a name goes back to its last owner only, to others after the retention (decision 13)
  std::string kind, project, name, owner, uid;
  std::optional<Time> freed;
};

struct UserRow {
  std::string name, display_name;
  std::string password_hash;  // argon2id; empty: no log-in by password
  bool admin = false, disabled = false;
  Time created;
};
struct SessionRow {
  std::string id_hash;      // SHA-256 hex of the cookie's value
  std::string user, host;   // host: the origin it is good for ("localhost:8080", "nb--demo.localhost")
  std::string parent_hash;  // the platform session it came from; ended with it
  Time created, expires, last_seen;
};
struct TokenRow {
  std::string id, hash, user, label;
  std::string scope;  // "" all that the user may, "read"
  Time created;
  std::optional<Time> expires, last_used;
};
struct OneTimeRow {  // links and sign-in codes
  std::string hash, purpose, user, host, data;
  Time expires;
};
struct BlobRow {  // uploaded code archives
  std::string digest, owner;
  std::string bytes;
  Time at;
};
struct KeptLog {  // of an attempt that has ended
  std::string workload_uid;
  int32_t attempt = 1;
  std::string path;  // on this machine, or empty when `text` has it
  std::string text;
  Time ended;
};

// Read view of one moment. Valid inside the function it was given to.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual Result<std::optional<ObjectRow>> GetObject(std::string_view kind, std::string_view project,
                                                     std::string_view name) = 0;
  virtual Result<std::optional<ObjectRow>> GetObjectByUid(std::string_view uid) = 0;
  virtual Result<std::vector<ObjectRow>> ListObjects(
      std::string_view kind, std::string_view project, size_t limit,
      std::string_view after_uid) = 0;  // empty kind/project: all; by uid
  virtual Result<std::vector<FeedEvent>> Feed(
      int64_t after, size_t limit) = 0;  // kGone when `after` is older than what is kept
  virtual Result<int64_t> LastSeq() = 0;

  virtual Result<std::vector<BindingRow>> Bindings(std::string_view project) = 0;  // empty: all
  virtual Result<std::vector<ReservationRow>> LiveReservations(
      std::string_view binding_id) = 0;  // not released; empty: all
  virtual Result<std::vector<ReservationRow>> ReservationsOf(std::string_view workload_uid) = 0;
  virtual Result<std::optional<WorkloadRow>> GetWorkload(std::string_view uid) = 0;
  virtual Result<std::vector<WorkloadRow>> WorkloadsInPhase(
      std::string_view phase, std::string_view project) = 0;  // by arrival; empty project: all
  virtual Result<std::optional<SentMark>> GetSentMark(std::string_view workload_uid, int32_t attempt) = 0;
  virtual Result<std::optional<IdempotencyRow>> GetIdempotency(std::string_view principal,
                                                               std::string_view key) = 0;
  virtual Result<std::vector<AuditRow>> Audit(int64_t after, size_t limit) = 0;
  virtual Result<std::optional<NameClaim>> GetNameClaim(std::string_view kind, std::string_view project,
                                                        std::string_view name) = 0;

  virtual Result<std::optional<UserRow>> GetUser(std::string_view name) = 0;
  virtual Result<std::vector<UserRow>> Users() = 0;
  virtual Result<std::optional<SessionRow>> GetSession(std::string_view id_hash) = 0;
  virtual Result<std::vector<SessionRow>> Sessions() = 0;  // those not expired, for the gateway's map
  virtual Result<std::optional<TokenRow>> GetTokenByHash(std::string_view hash) = 0;
  virtual Result<std::vector<TokenRow>> TokensOf(std::string_view user) = 0;
  virtual Result<std::optional<BlobRow>> GetBlob(std::string_view digest) = 0;
  virtual Result<std::optional<KeptLog>> GetKeptLog(std::string_view workload_uid, int32_t attempt) = 0;
  virtual Result<std::optional<std::string>> GetMeta(
      std::string_view key) = 0;  // "instance", settings of our own
};

class Txn : public Reader {
 public:
  virtual Result<int64_t> PutObject(
      const ObjectRow& row) = 0;  // insert or replace by uid; gives its feed number
  virtual Result<int64_t> DeleteObject(std::string_view uid) = 0;
  virtual Result<void> PutBinding(const BindingRow& row) = 0;
  virtual Result<void> DeleteBinding(std::string_view id) = 0;
  virtual Result<void> PutWorkload(WorkloadRow& row) = 0;         // arrival 0: the next one is given
  virtual Result<void> DeleteWorkload(std::string_view uid) = 0;  // its reservations and marks stay
  virtual Result<void> Reserve(
      const std::vector<ReservationRow>& rows) = 0;  // kAlreadyExists when a living one is there; after its
                                                     // release an attempt may reserve again (ClusterRefused)
  virtual Result<int> SetReservationState(
      std::string_view workload_uid, int32_t attempt,
      ReservationState state) = 0;  // gives how many changed; released ones never change again
  virtual Result<void> PutSentMark(const SentMark& mark) = 0;  // kAlreadyExists when there
  virtual Result<void> PutIdempotency(const IdempotencyRow& row) = 0;
  virtual Result<int> ExpireIdempotency(Time before) = 0;
  virtual Result<void> AppendAudit(AuditRow row) = 0;
  virtual Result<void> PutNameClaim(const NameClaim& claim) = 0;

  virtual Result<void> PutUser(const UserRow& row) = 0;
  virtual Result<void> PutSession(const SessionRow& row) = 0;
  virtual Result<void> DeleteSession(std::string_view id_hash) = 0;  // and those whose parent it is
  virtual Result<void> DeleteSessionsOf(std::string_view user) = 0;
  virtual Result<void> PutToken(const TokenRow& row) = 0;
  virtual Result<bool> DeleteToken(std::string_view user, std::string_view id) = 0;
  virtual Result<void> PutOneTime(const OneTimeRow& row) = 0;
  virtual Result<std::optional<OneTimeRow>> TakeOneTime(
      std::string_view hash) = 0;  // once: it is gone afterwards
  virtual Result<void> PutBlob(const BlobRow& row) = 0;
  virtual Result<void> PutKeptLog(const KeptLog& log) = 0;
  virtual Result<void> PutMeta(std::string_view key, std::string_view value) = 0;
};

class Store {
 public:
  virtual ~Store() = default;
  // Runs `change` in a transaction and resumes after the commit that covers it. The error of `change`, or
  // kStoreFull when the store cannot take writes (then nothing of the whole group was saved or is answered as
  // done).
  virtual async::Task<Result<void>> Write(std::function<Result<void>(Txn&)> change) = 0;
  virtual async::Task<Result<void>> Read(std::function<Result<void>(Reader&)> look) = 0;
  // Called on the executor with the events of each commit, in order, before the writers of that commit are
  // resumed.
  virtual void OnCommit(std::function<void(const std::vector<FeedEvent>&)> listener) = 0;
  // Last failure of a commit, until one succeeds: for readiness.
  virtual std::optional<Error> Trouble() const = 0;
};

}  // namespace cubeplane::storage
