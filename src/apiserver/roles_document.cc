#include "apiserver/roles_document.h"

#include "apiserver/context.h"

namespace cubeplane::apiserver {
namespace {

using auth::Grant;
using auth::Standing;

constexpr std::string_view kHead =
    "# Who may do what\n"
    "\n"
    "One row per operation of `api/openapi.yaml`. The table is data in `src/auth/roles.cc`, asked before "
    "every request; an operation\n"
    "without a row is refused. This file is its text, and a test holds it, the contract and the running "
    "server to it.\n"
    "\n"
    "- **admin** is a property of the user (and of root and the operator on the machine's own socket). "
    "**lead**, **member** and\n"
    "  **viewer** are roles in the project that the path names. **signed-in** is everybody else with an "
    "account; within a project that is\n"
    "  not theirs the answer is 404. **anyone** has not signed in (else 401).\n"
    "- `yes`: may; `own`: only on what belongs to the caller; `-`: 403.\n"
    "- A lead's `applyProject` changes members, contacts and the display name only. `apply` asks for the row "
    "of what its manifest does.\n"
    "  Changing a workload by `apply…` needs the row of `delete…`. Uploading code needs a place in some "
    "project as member.\n"
    "- A token of scope `read` may only read, whatever its user may.\n"
    "\n"
    "| operation | | admin | lead | member | viewer | signed-in | anyone |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |\n";

const char* Word(Grant grant) {
  switch (grant) {
    case Grant::kNo:
      return "-";
    case Grant::kOwn:
      return "own";
    case Grant::kYes:
      return "yes";
  }
  return "";
}

}  // namespace

std::string RolesDocument() {
  std::string text(kHead);
  for (const auth::OperationRow& row : auth::Operations()) {
    std::string path;
    for (const Route& route : Routes()) {
      if (route.operation == row.operation) path = std::string(route.method) + " " + std::string(route.path);
    }
    text += "| " + std::string(row.operation) + " | `" + path + "` |";
    for (const Standing standing : {Standing::kAdmin, Standing::kLead, Standing::kMember, Standing::kViewer,
                                    Standing::kUser, Standing::kAnyone}) {
      text += std::string(" ") + Word(row.For(standing)) + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace cubeplane::apiserver
