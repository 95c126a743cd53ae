// Who may call what: one row per operation of api/openapi.yaml. The API server asks here before every
// request; an operation without a row is refused. docs/roles.md is this table as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubeplane::auth {

// Where the caller stands towards what is asked for. Within a project the role there; `kUser` is everybody
// signed in.
enum class Standing : uint8_t { kAnyone, kUser, kViewer, kMember, kLead, kAdmin };
inline constexpr size_t kStandings = 6;

// kOwn: only on what the caller owns.
enum class Grant : uint8_t { kNo, kOwn, kYes };

struct OperationRow {
  std::string_view operation;  // operationId
  bool in_project = false;     // the standing is the role in the project of the path; strangers get 404
  Grant grants[kStandings] = {};
  Grant For(Standing standing) const { return grants[static_cast<size_t>(standing)]; }
};

std::span<const OperationRow> Operations();
// nullptr when there is no such operation: refuse.
const OperationRow* FindOperation(std::string_view operation);
// "admin", "lead", "member", "viewer", "signed-in", "anyone".
std::string_view StandingName(Standing standing);
// As `x-cubeplane-roles` writes it: {"admin", "member:own"}.
std::vector<std::string> RolesOf(const OperationRow& row);

}  // namespace cubeplane::auth
