// Code archives of jobs, known by their digest.
#include <algorithm>

#include "apiserver/handlers.h"
#include "base/strings.h"

namespace cubeplane::apiserver {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";

bool MaySubmitAnywhere(const Context& context) {
  if (context.principal->admin) return true;
  for (const state::ProjectPtr& project : context.parts.ledger.Projects()) {
    if (StandingIn(context, project->metadata.name) >= auth::Standing::kMember) return true;
  }
  return false;
}

async::Task<Answer> Keep(Context& context, std::string digest) {
  if (!MaySubmitAnywhere(context)) {
    co_return Fail(Error(Code::kForbidden, "no_project", {{"user", context.user()}},
                         "only members of a project upload code"));
  }
  const std::string& bytes = context.request.body;
  if (bytes.size() < 2 || bytes[0] != '\x1f' || bytes[1] != '\x8b') {
    co_return Fail(BadField(Code::kInvalid, "body", std::to_string(bytes.size()) + " bytes that are not gzip",
                            "a tar.gz archive"));
  }
  storage::BlobRow row{digest, context.user(), bytes, context.now()};
  const auto size = static_cast<int64_t>(bytes.size());
  std::function<Result<void>(storage::Txn&)> change =
      [row = std::move(row)](storage::Txn& txn) -> Result<void> {
    ASSIGN_OR_RETURN(std::optional<storage::BlobRow> there, txn.GetBlob(row.digest));
    if (there) return {};
    return txn.PutBlob(row);
  };
  Result<void> done = co_await context.parts.store.Write(std::move(change));
  CO_RETURN_IF_ERROR(done);
  co_return JsonResponse(201, json::Object{{"digest", digest}, {"bytes", size}});
}

}  // namespace

async::Task<Answer> UploadCode(Context& context) {
  Answer answer = co_await Keep(context, std::string(kDigestPrefix) + Sha256Hex(context.request.body));
  co_return answer;
}

async::Task<Answer> PutCode(Context& context) {
  const std::string digest = std::string(kDigestPrefix) + Sha256Hex(context.request.body);
  if (context.Param("digest") != digest) {
    co_return Fail(
        BadField(Code::kInvalid, "digest", context.Param("digest"), digest + ", which is what the body has"));
  }
  Answer answer = co_await Keep(context, digest);
  co_return answer;
}

}  // namespace cubeplane::apiserver
