// Rights: the one place where they are decided. Fails closed.
#include <algorithm>

#include "apiserver/context.h"

namespace cubeplane::apiserver {
namespace {

using auth::Grant;
using auth::Standing;

Standing StandingOf(model::Role role) {
  switch (role) {
    case model::Role::kLead:
      return Standing::kLead;
    case model::Role::kMember:
      return Standing::kMember;
    case model::Role::kViewer:
      return Standing::kViewer;
  }
  return Standing::kUser;
}

Error NotSignedIn() { return Error(Code::kUnauthenticated, "not_signed_in", {}, "not signed in"); }

Error NotAllowed(std::string_view operation, Standing standing) {
  std::string needed;
  if (const auth::OperationRow* row = auth::FindOperation(operation)) {
    for (const std::string& role : auth::RolesOf(*row)) needed += (needed.empty() ? "" : ", ") + role;
  }
  return Error(Code::kForbidden, "role_missing", {{"action", std::string(operation)}, {"needed", needed}},
               std::string(auth::StandingName(standing)) + " may not " + std::string(operation));
}

Error NotOwner(std::string_view operation, const Target& target, std::string_view owner) {
  const bool opens = operation.starts_with("open");
  return Error(Code::kForbidden, opens ? "owner_only" : "not_owner",
               {{"name", target.name}, {"owner", std::string(owner)}},
               target.name + " belongs to another person");
}

bool IsSafe(std::string_view method) { return method == "GET" || method == "HEAD"; }

// Whether what is asked for is the caller's own.
Result<void> CheckOwn(const Context& context, std::string_view operation, const Target& target) {
  if (!target.user.empty()) {
    if (target.user == context.user()) return {};
    return Fail(NotAllowed(operation, context.standing));
  }
  if (!target.kind) return Fail(NotAllowed(operation, context.standing));
  const state::WorkloadPtr workload = context.parts.ledger.Find({*target.kind, target.project, target.name});
  if (!workload) return Fail(WorkloadNotFound(*target.kind, target.project, target.name));
  if (workload->metadata.owner != context.user())
    return Fail(NotOwner(operation, target, workload->metadata.owner));
  return {};
}

}  // namespace

Standing StandingIn(const Context& context, std::string_view project) {
  if (!context.principal) return Standing::kAnyone;
  if (context.principal->admin) return Standing::kAdmin;
  const state::ProjectPtr found = context.parts.ledger.FindProject(project);
  if (!found) return Standing::kUser;
  const auto& members = found->spec.members;
  const auto member = std::ranges::find(members, context.principal->user, &model::Member::user);
  return member == members.end() ? Standing::kUser : StandingOf(member->role);
}

Result<void> Authorize(Context& context, std::string_view operation, const Target& target) {
  const auth::OperationRow* row = auth::FindOperation(operation);
  if (row == nullptr) return Fail(NotAllowed(operation, Standing::kAnyone));
  Standing standing = Standing::kAnyone;
  if (context.principal) {
    standing = context.principal->admin ? Standing::kAdmin : Standing::kUser;
    if (row->in_project) standing = StandingIn(context, target.project);
  }
  context.standing = standing;
  context.grant = row->For(standing);
  if (context.grant == Grant::kNo) {
    if (!context.principal) return Fail(NotSignedIn());
    // Who has no part in a project is not told that it is there.
    if (row->in_project && standing == Standing::kUser) return Fail(ProjectNotFound(target.project));
    return Fail(NotAllowed(operation, standing));
  }
  const bool open_to_all = row->For(Standing::kAnyone) == Grant::kYes;
  if (context.principal && context.principal->read_only && !IsSafe(context.request.method) && !open_to_all) {
    return Fail(Error(Code::kForbidden, "token_read_only", {}, "this token may only read"));
  }
  if (context.grant == Grant::kOwn) return CheckOwn(context, operation, target);
  return {};
}

}  // namespace cubeplane::apiserver
