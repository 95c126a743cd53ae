// What every Store must do. A back end instantiates the suite with a factory:
//
//   struct Factory {
//     // Opens the factory's one database; again after the store before it has gone: with what was committed.
//     Result<std::unique_ptr<Store>> Open(async::Executor&, const Clock&, StoreLimits);
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, Factory);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/audit.h"
#include "storage/store.h"
#include "storage/testing/loop_thread.h"

namespace cubeplane::storage::testing {

struct StoreLimits {
  size_t max_waiting = 4096;
  int64_t feed_kept = 1000;
};

inline ObjectRow AnObject(const std::string& name, const std::string& json = "{}") {
  return {"Notebook", "uid-" + name, "nlp", name, 0, json};
}
inline ReservationRow AReservation(const std::string& uid, const std::string& resource, Quantity amount) {
  return {uid, 1, "nlp/local", "", resource, amount, ReservationState::kReserved};
}
inline Time At(int64_t seconds) { return Time(std::chrono::seconds(1'800'000'000 + seconds)); }

// The numbers of the events of one commit.
inline std::vector<int64_t> Numbers(const std::vector<FeedEvent>& events) {
  std::vector<int64_t> numbers;
  for (const FeedEvent& event : events) numbers.push_back(event.seq);
  return numbers;
}

template <class Factory>
class StoreContract : public ::testing::Test {
 protected:
  void SetUp() override { Open({}); }
  void TearDown() override { Close(); }

  void Open(StoreLimits limits) {
    Close();
    auto opened = thread_.Call([&] { return factory_.Open(thread_.loop(), thread_.clock(), limits); });
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  void Close() {
    thread_.Call([this] { store_.reset(); });
  }
  Result<void> Write(std::function<Result<void>(Txn&)> change) {
    return thread_.Run(store_->Write(std::move(change)));
  }
  // Starts all of `changes` before the first can be answered, and gives their answers.
  std::vector<Result<void>> WriteTogether(std::vector<std::function<Result<void>(Txn&)>> changes) {
    auto futures = thread_.Call([&] {
      std::vector<std::future<Result<void>>> started;
      for (auto& change : changes) started.push_back(thread_.Start(store_->Write(std::move(change))));
      return started;
    });
    std::vector<Result<void>> answers;
    for (auto& future : futures) answers.push_back(future.get());
    return answers;
  }
  // Reads one value; a failed read fails the test.
  template <class T>
  T Read(std::function<Result<T>(Reader&)> look) {
    std::optional<T> value;
    auto answer = thread_.Run(store_->Read([&](Reader& reader) -> Result<void> {
      ASSIGN_OR_RETURN(value, look(reader));
      return {};
    }));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? std::move(*value) : T();
  }
  void Put(const ObjectRow& row) {
    auto answer = Write([row](Txn& txn) -> Result<void> {
      RETURN_IF_ERROR(txn.PutObject(row));
      return {};
    });
    ASSERT_TRUE(answer) << answer.error().message;
  }

  LoopThread thread_;
  Factory factory_;
  std::unique_ptr<Store> store_;
};

TYPED_TEST_SUITE_P(StoreContract);

TYPED_TEST_P(StoreContract, ObjectsComeBackWithTheNumberOfTheirLastChange) {
  this->Put(AnObject("a", "{\"v\":1}"));
  this->Put(AnObject("a", "{\"v\":2}"));
  const auto row = this->template Read<std::optional<ObjectRow>>(
      [](Reader& reader) { return reader.GetObject("Notebook", "nlp", "a"); });
  ASSERT_TRUE(row);
  EXPECT_EQ(row->json, "{\"v\":2}");
  EXPECT_EQ(row->resource_version, 2);
  EXPECT_EQ(this->template Read<int64_t>([](Reader& reader) { return reader.LastSeq(); }), 2);
  EXPECT_FALSE(this->template Read<std::optional<ObjectRow>>(
      [](Reader& reader) { return reader.GetObject("Notebook", "other", "a"); }));
}

TYPED_TEST_P(StoreContract, ListsByUidInPages) {
  for (const char* name : {"c", "a", "b"}) this->Put(AnObject(name));
  using Rows = std::vector<ObjectRow>;
  const auto page =
      this->template Read<Rows>([](Reader& reader) { return reader.ListObjects("Notebook", "nlp", 2, ""); });
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[1].name, "b");
  const auto rest =
      this->template Read<Rows>([](Reader& reader) { return reader.ListObjects("", "", 2, "uid-b"); });
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].name, "c");
}

TYPED_TEST_P(StoreContract, ALivingNameIsTakenOnce) {
  this->Put(AnObject("a"));
  ObjectRow other = AnObject("a");
  other.uid = "uid-other";
  auto put = [other](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutObject(other));
    return {};
  };
  const auto refused = this->Write(put);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.DeleteObject("uid-a"));
    return {};
  }));
  EXPECT_TRUE(this->Write(put));
}

TYPED_TEST_P(StoreContract, AFailedChangeTakesBackItsOwnRowsOnly) {
  std::vector<int64_t> told;
  this->thread_.Call([&] {
    this->store_->OnCommit([&told](const std::vector<FeedEvent>& events) {
      for (int64_t number : Numbers(events)) told.push_back(number);
    });
  });
  auto put = [](const char* name, bool fail) {
    return [name, fail](Txn& txn) -> Result<void> {
      RETURN_IF_ERROR(txn.PutObject(AnObject(name)));
      if (fail) return Fail(Code::kQuotaExceeded, "no");
      return {};
    };
  };
  const auto answers = this->WriteTogether({put("a", false), put("b", true), put("c", false)});
  EXPECT_TRUE(answers[0]);
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, Code::kQuotaExceeded);
  EXPECT_TRUE(answers[2]);
  const auto rows =
      this->template Read<std::vector<ObjectRow>>([](Reader& r) { return r.ListObjects("", "", 10, ""); });
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].name, "c");
  EXPECT_EQ(told, (std::vector<int64_t>{1, 2}));
}

TYPED_TEST_P(StoreContract, EventsAreHeardInOrderAndBeforeTheWriter) {
  std::vector<int64_t> told;
  this->thread_.Call([&] {
    this->store_->OnCommit([&told](const std::vector<FeedEvent>& events) {
      for (int64_t number : Numbers(events)) told.push_back(number);
    });
  });
  for (int i = 1; i <= 20; ++i) {
    this->Put(AnObject("o" + std::to_string(i % 3)));
    ASSERT_EQ(told.size(), static_cast<size_t>(i));
    ASSERT_EQ(told.back(), i);
  }
}

TYPED_TEST_P(StoreContract, TheFeedIsBoundedAndSaysWhenItNoLongerKnows) {
  this->Open({.feed_kept = 5});
  for (int i = 1; i <= 12; ++i) this->Put(AnObject("a", std::to_string(i)));
  using Events = std::vector<FeedEvent>;
  const auto kept = this->template Read<Events>([](Reader& reader) { return reader.Feed(7, 100); });
  ASSERT_EQ(kept.size(), 5u);
  EXPECT_EQ(kept.front().object.json, "8");
  EXPECT_EQ(kept.front().object.resource_version, 8);
  EXPECT_TRUE(this->template Read<Events>([](Reader& reader) { return reader.Feed(12, 100); }).empty());
  for (const int64_t number : {0, 6, 13}) {
    const auto gone = this->thread_.Run(this->store_->Read([number](Reader& reader) -> Result<void> {
      RETURN_IF_ERROR(reader.Feed(number, 100));
      return {};
    }));
    ASSERT_FALSE(gone) << number;
    EXPECT_EQ(gone.error().code, Code::kGone) << number;
  }
}

TYPED_TEST_P(StoreContract, ADeletionTellsTheLastState) {
  this->Put(AnObject("a", "last"));
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.DeleteObject("uid-a"));
    return {};
  }));
  const auto events =
      this->template Read<std::vector<FeedEvent>>([](Reader& reader) { return reader.Feed(1, 10); });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].deleted);
  EXPECT_EQ(events[0].object.json, "last");
}

TYPED_TEST_P(StoreContract, ChangesSeeEachOtherOneAfterAnother) {
  std::vector<std::function<Result<void>(Txn&)>> changes;
  for (int i = 0; i < 1000; ++i) {
    changes.emplace_back([](Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(const auto value, txn.GetMeta("count"));
      return txn.PutMeta("count", std::to_string(std::stoi(value.value_or("0")) + 1));
    });
  }
  for (const auto& answer : this->WriteTogether(std::move(changes)))
    ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(
      this->template Read<std::optional<std::string>>([](Reader& reader) { return reader.GetMeta("count"); }),
      "1000");
}

TYPED_TEST_P(StoreContract, TheQueueIsBounded) {
  this->Open({.max_waiting = 4});
  std::vector<std::function<Result<void>(Txn&)>> changes;
  for (int i = 0; i < 200; ++i) {
    changes.emplace_back([i](Txn& txn) { return txn.PutMeta("k" + std::to_string(i), "v"); });
  }
  const auto answers = this->WriteTogether(std::move(changes));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) EXPECT_EQ(answers[i].error().code, Code::kTooMany);
    const auto value = this->template Read<std::optional<std::string>>(
        [i](Reader& reader) { return reader.GetMeta("k" + std::to_string(i)); });
    EXPECT_EQ(value.has_value(), answers[i].has_value()) << i;
  }
}

TYPED_TEST_P(StoreContract, ReservationsAreExactAndUniqueWhileTheyLive) {
  const Quantity huge = *Quantity::Parse("9223372036854775807");
  const Quantity memory = *Quantity::Parse("1536Mi");
  auto reserve = [huge, memory](Txn& txn) {
    return txn.Reserve({AReservation("w", "requests.cpu", Quantity::FromMilli(1)),
                        AReservation("w", "requests.memory", memory),
                        AReservation("w", "requests.x/y", huge)});
  };
  ASSERT_TRUE(this->Write(reserve));
  const auto twice = this->Write(reserve);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
  const auto rows = this->template Read<std::vector<ReservationRow>>(
      [](Reader& reader) { return reader.LiveReservations("nlp/local"); });
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].amount.ToString(), "1m");
  EXPECT_EQ(rows[1].amount.ToString(), "1536Mi");
  EXPECT_EQ(rows[2].amount, huge);
}

TYPED_TEST_P(StoreContract, AReservationIsReleasedOnce) {
  ASSERT_TRUE(this->Write([](Txn& txn) {
    return txn.Reserve({AReservation("w", "pods", Quantity::FromInt(1)),
                        AReservation("w", "requests.cpu", Quantity::FromInt(2))});
  }));
  auto set = [this](ReservationState state) {
    int changed = -1;
    auto answer = this->Write([&changed, state](Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(changed, txn.SetReservationState("w", 1, state));
      return {};
    });
    EXPECT_TRUE(answer);
    return changed;
  };
  EXPECT_EQ(set(ReservationState::kSent), 2);
  EXPECT_EQ(set(ReservationState::kReleased), 2);
  EXPECT_EQ(set(ReservationState::kReleased), 0);
  EXPECT_EQ(set(ReservationState::kSent), 0);
  using Rows = std::vector<ReservationRow>;
  EXPECT_TRUE(this->template Read<Rows>([](Reader& reader) { return reader.LiveReservations(""); }).empty());
  EXPECT_EQ(this->template Read<Rows>([](Reader& reader) { return reader.ReservationsOf("w"); }).size(), 2u);
}

TYPED_TEST_P(StoreContract, AReservationFinerThanAThousandthIsRefused) {
  for (const Quantity amount : {Quantity::FromNano(1), Quantity::FromInt(-1)}) {
    const auto refused =
        this->Write([amount](Txn& txn) { return txn.Reserve({AReservation("w", "pods", amount)}); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid);
  }
}

TYPED_TEST_P(StoreContract, WorkloadsAreNumberedByArrival) {
  for (const char* uid : {"z", "y", "x"}) {
    ASSERT_TRUE(this->Write([uid](Txn& txn) -> Result<void> {
      WorkloadRow row{uid, "TrainingJob", "nlp", uid, 0, "waiting", ""};
      RETURN_IF_ERROR(txn.PutWorkload(row));
      return uid == std::string("x") ? txn.DeleteWorkload("x") : Result<void>();
    }));
  }
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    WorkloadRow row{"w", "TrainingJob", "nlp", "w", 0, "waiting", ""};
    return txn.PutWorkload(row);
  }));
  const auto rows = this->template Read<std::vector<WorkloadRow>>(
      [](Reader& reader) { return reader.WorkloadsInPhase("waiting", "nlp"); });
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].uid, "z");
  EXPECT_EQ(rows[2].uid, "w");
  EXPECT_EQ(rows[2].arrival, 4);
}

TYPED_TEST_P(StoreContract, AnAttemptIsMarkedSentOnce) {
  const SentMark mark{"w", 1, "local", "identity", "namespace", At(0)};
  ASSERT_TRUE(this->Write([mark](Txn& txn) { return txn.PutSentMark(mark); }));
  const auto twice = this->Write([mark](Txn& txn) { return txn.PutSentMark(mark); });
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
  const auto found =
      this->template Read<std::optional<SentMark>>([](Reader& reader) { return reader.GetSentMark("w", 1); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->namespace_uid, "namespace");
  EXPECT_EQ(found->at, At(0));
}

TYPED_TEST_P(StoreContract, IdempotencyIsKeptUntilItExpires) {
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutIdempotency({"ann", "k1", "POST", "/p", "aa", 201, "{}", "uid", At(0)}));
    return txn.PutIdempotency({"bob", "k1", "POST", "/p", "bb", 201, "", "uid", At(10)});
  }));
  int expired = 0;
  ASSERT_TRUE(this->Write([&expired](Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(expired, txn.ExpireIdempotency(At(5)));
    return {};
  }));
  EXPECT_EQ(expired, 1);
  using Row = std::optional<IdempotencyRow>;
  EXPECT_FALSE(this->template Read<Row>([](Reader& reader) { return reader.GetIdempotency("ann", "k1"); }));
  const auto row =
      this->template Read<Row>([](Reader& reader) { return reader.GetIdempotency("bob", "k1"); });
  ASSERT_TRUE(row);
  EXPECT_EQ(row->body_sha256, "bb");
  EXPECT_EQ(row->status, 201);
}

TYPED_TEST_P(StoreContract, TheAuditLogIsAChain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(this->Write([i](Txn& txn) {
      return txn.AppendAudit({0, At(i), "ann", "create", "Notebook/nlp/a", "r", "", "{}", "", ""});
    }));
  }
  const auto check = this->template Read<AuditCheck>([](Reader& reader) { return VerifyAudit(reader); });
  EXPECT_EQ(check.records, 3);
  EXPECT_FALSE(check.first_broken) << check.problem;
  const auto rows =
      this->template Read<std::vector<AuditRow>>([](Reader& reader) { return reader.Audit(1, 1); });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].seq, 2);
  EXPECT_EQ(rows[0].at, At(1));
}

TYPED_TEST_P(StoreContract, NameClaimsAreReplaced) {
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutNameClaim({"Notebook", "nlp", "a", "ann", "u1", std::nullopt}));
    return txn.PutNameClaim({"Notebook", "nlp", "a", "ann", "u1", At(1)});
  }));
  const auto claim = this->template Read<std::optional<NameClaim>>(
      [](Reader& reader) { return reader.GetNameClaim("Notebook", "nlp", "a"); });
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->freed, At(1));
}

TYPED_TEST_P(StoreContract, SessionsEndWithTheirParent) {
  const Time now = SystemClock().Now();
  const Time later = now + std::chrono::hours(1);
  ASSERT_TRUE(this->Write([=](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutUser({"ann", "Ann", "hash", true, false, At(0)}));
    RETURN_IF_ERROR(txn.PutSession({"s1", "ann", "localhost", "", now, later, now}));
    RETURN_IF_ERROR(txn.PutSession({"s2", "ann", "nb--nlp.localhost", "s1", now, later, now}));
    RETURN_IF_ERROR(txn.PutSession({"s3", "ann", "localhost", "", now, now - std::chrono::seconds(1), now}));
    return txn.PutSession({"s4", "ann", "localhost", "", now, later, now});
  }));
  using Rows = std::vector<SessionRow>;
  EXPECT_EQ(this->template Read<Rows>([](Reader& reader) { return reader.Sessions(); }).size(),
            3u);  // s3 has expired
  ASSERT_TRUE(this->Write([](Txn& txn) { return txn.DeleteSession("s1"); }));
  const auto left = this->template Read<Rows>([](Reader& reader) { return reader.Sessions(); });
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id_hash, "s4");
  ASSERT_TRUE(this->Write([](Txn& txn) { return txn.DeleteSessionsOf("ann"); }));
  EXPECT_TRUE(this->template Read<Rows>([](Reader& reader) { return reader.Sessions(); }).empty());
  const auto nobody =
      this->Write([=](Txn& txn) { return txn.PutSession({"s", "nobody", "", "", now, later, now}); });
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::kInvalid);
}

TYPED_TEST_P(StoreContract, TokensAndOneTimeValues) {
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutUser({"ann", "Ann", "", false, false, At(0)}));
    RETURN_IF_ERROR(txn.PutToken({"t1", "h1", "ann", "ci", "read", At(0), At(9), std::nullopt}));
    return txn.PutOneTime({"h", "link", "ann", "nb--nlp.localhost", "", SystemClock().Now()});
  }));
  const auto token =
      this->template Read<std::optional<TokenRow>>([](Reader& r) { return r.GetTokenByHash("h1"); });
  ASSERT_TRUE(token);
  EXPECT_EQ(token->expires, At(9));
  EXPECT_FALSE(token->last_used);
  std::vector<bool> taken, deleted;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(this->Write([&](Txn& txn) -> Result<void> {
      ASSIGN_OR_RETURN(const auto once, txn.TakeOneTime("h"));
      ASSIGN_OR_RETURN(const bool gone, txn.DeleteToken("ann", "t1"));
      taken.push_back(once.has_value());
      deleted.push_back(gone);
      return {};
    }));
  }
  EXPECT_EQ(taken, (std::vector<bool>{true, false}));
  EXPECT_EQ(deleted, (std::vector<bool>{true, false}));
}

TYPED_TEST_P(StoreContract, BlobsAndLogsKeepEveryByte) {
  std::string bytes(256 * 1024, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  ASSERT_TRUE(this->Write([bytes](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutBlob({"sha256:x", "ann", bytes, At(0)}));
    return txn.PutKeptLog({"w", 2, "", std::string("a\0b", 3), At(1)});
  }));
  const auto blob =
      this->template Read<std::optional<BlobRow>>([](Reader& reader) { return reader.GetBlob("sha256:x"); });
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->bytes, bytes);
  const auto log =
      this->template Read<std::optional<KeptLog>>([](Reader& reader) { return reader.GetKeptLog("w", 2); });
  ASSERT_TRUE(log);
  EXPECT_EQ(log->text, std::string("a\0b", 3));
}

TYPED_TEST_P(StoreContract, EverythingIsThereAfterOpeningAgain) {
  this->Put(AnObject("a"));
  ASSERT_TRUE(this->Write([](Txn& txn) -> Result<void> {
    RETURN_IF_ERROR(txn.PutBinding({"p/local", "nlp", "local", 3, "{}"}));
    RETURN_IF_ERROR(txn.AppendAudit({0, At(0), "ann", "create", "x", "r", "", "", "", ""}));
    return txn.Reserve({AReservation("w", "pods", Quantity::FromInt(1))});
  }));
  this->Open({});
  EXPECT_EQ(this->template Read<int64_t>([](Reader& reader) { return reader.LastSeq(); }), 1);
  const auto bindings =
      this->template Read<std::vector<BindingRow>>([](Reader& reader) { return reader.Bindings(""); });
  ASSERT_EQ(bindings.size(), 1u);
  EXPECT_EQ(bindings[0].version, 3);
  EXPECT_EQ(this->template Read<std::vector<ReservationRow>>([](Reader& r) { return r.LiveReservations(""); })
                .size(),
            1u);
  this->Put(AnObject("b"));
  EXPECT_EQ(this->template Read<int64_t>([](Reader& reader) { return reader.LastSeq(); }), 2);
  EXPECT_EQ(this->template Read<AuditCheck>([](Reader& reader) { return VerifyAudit(reader); }).records, 1);
}

REGISTER_TYPED_TEST_SUITE_P(StoreContract, ObjectsComeBackWithTheNumberOfTheirLastChange, ListsByUidInPages,
                            ALivingNameIsTakenOnce, AFailedChangeTakesBackItsOwnRowsOnly,
                            EventsAreHeardInOrderAndBeforeTheWriter,
                            TheFeedIsBoundedAndSaysWhenItNoLongerKnows, ADeletionTellsTheLastState,
                            ChangesSeeEachOtherOneAfterAnother, TheQueueIsBounded,
                            ReservationsAreExactAndUniqueWhileTheyLive, AReservationIsReleasedOnce,
                            AReservationFinerThanAThousandthIsRefused, WorkloadsAreNumberedByArrival,
                            AnAttemptIsMarkedSentOnce, IdempotencyIsKeptUntilItExpires, TheAuditLogIsAChain,
                            NameClaimsAreReplaced, SessionsEndWithTheirParent, TokensAndOneTimeValues,
                            BlobsAndLogsKeepEveryByte, EverythingIsThereAfterOpeningAgain);

}  // namespace cubeplane::storage::testing
