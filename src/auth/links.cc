// One-time links and sign-in codes: each is taken out of the store by the first who brings it, right or
// wrong.
#include "auth/auth.h"
#include "auth/query.h"
#include "base/strings.h"
#include "json/json.h"

namespace cubeplane::auth {
namespace {

constexpr std::string_view kLinkPurpose = "open", kCodePurpose = "code";

Error Used() { return Error(Code::kGone, "link_used", {}, "the link or code is unknown, used or expired"); }

}  // namespace

async::Task<Result<Link>> Auth::MakeLink(std::string user, std::string host, std::string workload_uid,
                                         std::string parent_hash) {
  Link link{NewSecret(random_), clock_.Now() + settings_.link};
  const json::Value data(json::Object{{"workload", workload_uid}, {"parent", parent_hash}});
  storage::OneTimeRow row{
      Sha256Hex(link.secret), std::string(kLinkPurpose), user, host, json::Write(data), link.expires};
  std::function<Result<void>(storage::Txn&)> change = [row](storage::Txn& txn) {
    return txn.PutOneTime(row);
  };
  Result<void> done = co_await store_.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return link;
}

async::Task<Result<std::string>> Auth::MakeCode(std::string user, std::string parent_hash,
                                                CodeBinding binding) {
  const std::string secret = NewSecret(random_);
  const json::Value data(json::Object{{"port", binding.port},
                                      {"state", Sha256Hex(binding.state)},
                                      {"next", binding.next},
                                      {"parent", parent_hash}});
  storage::OneTimeRow row{Sha256Hex(secret), std::string(kCodePurpose), user,
                          binding.host,      json::Write(data),         clock_.Now() + settings_.code};
  std::function<Result<void>(storage::Txn&)> change = [row](storage::Txn& txn) {
    return txn.PutOneTime(row);
  };
  Result<void> done = co_await store_.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return secret;
}

async::Task<Result<storage::OneTimeRow>> Auth::TakeOneTime(std::string secret, std::string purpose,
                                                           std::string host) {
  using Taken = std::optional<storage::OneTimeRow>;
  std::function<Result<Taken>(storage::Txn&)> change = [hash = Sha256Hex(secret)](storage::Txn& txn) {
    return txn.TakeOneTime(hash);
  };
  Result<Taken> taken = co_await Change<Taken>(store_, std::move(change));
  CO_RETURN_IF_ERROR(taken);
  if (!*taken || (*taken)->purpose != purpose || (*taken)->host != host || (*taken)->expires <= clock_.Now())
    co_return Fail(Used());
  co_return **taken;
}

async::Task<Result<OriginGrant>> Auth::RedeemLink(std::string secret, std::string host) {
  Result<storage::OneTimeRow> row =
      co_await TakeOneTime(std::move(secret), std::string(kLinkPurpose), std::move(host));
  CO_RETURN_IF_ERROR(row);
  const Result<json::Value> data = json::Parse(row->data);
  CO_RETURN_IF_ERROR(data);
  co_return OriginGrant{row->user, row->host, (*data)["parent"].AsString(), (*data)["workload"].AsString(),
                        ""};
}

async::Task<Result<OriginGrant>> Auth::RedeemCode(std::string secret, std::string host, std::string port,
                                                  std::string state) {
  Result<storage::OneTimeRow> row =
      co_await TakeOneTime(std::move(secret), std::string(kCodePurpose), std::move(host));
  CO_RETURN_IF_ERROR(row);
  const Result<json::Value> data = json::Parse(row->data);
  CO_RETURN_IF_ERROR(data);
  const bool same =
      (*data)["port"].AsString() == port && SameSecret((*data)["state"].AsString(), Sha256Hex(state));
  if (!same) co_return Fail(Used());
  co_return OriginGrant{row->user, row->host, (*data)["parent"].AsString(), "", (*data)["next"].AsString()};
}

}  // namespace cubeplane::auth
