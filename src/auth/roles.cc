#include "auth/roles.h"

#include <algorithm>

namespace cubeplane::auth {
namespace {

constexpr Grant kNo = Grant::kNo, kOwn = Grant::kOwn, kYes = Grant::kYes;

constexpr OperationRow Anyone(std::string_view operation) {
  return {operation, false, {kYes, kYes, kYes, kYes, kYes, kYes}};
}
constexpr OperationRow SignedIn(std::string_view operation) {
  return {operation, false, {kNo, kYes, kYes, kYes, kYes, kYes}};
}
constexpr OperationRow OwnOrAdmin(std::string_view operation) {
  return {operation, false, {kNo, kOwn, kOwn, kOwn, kOwn, kYes}};
}
constexpr OperationRow Admin(std::string_view operation) {
  return {operation, false, {kNo, kNo, kNo, kNo, kNo, kYes}};
}
constexpr OperationRow Project(std::string_view operation, Grant viewer, Grant member, Grant lead,
                               Grant admin) {
  return {operation, true, {kNo, kNo, viewer, member, lead, admin}};
}
constexpr OperationRow See(std::string_view operation) { return Project(operation, kYes, kYes, kYes, kYes); }
constexpr OperationRow Submit(std::string_view operation) {
  return Project(operation, kNo, kYes, kYes, kYes);
}
constexpr OperationRow End(std::string_view operation) { return Project(operation, kNo, kOwn, kYes, kYes); }

constexpr OperationRow kOperations[] = {
    Anyone("healthz"),
    Anyone("livez"),
    Anyone("readyz"),
    Anyone("version"),
    Admin("metrics"),
    Anyone("openapi"),
    SignedIn("getStatus"),
    Admin("listAudit"),
    Anyone("home"),
    Anyone("loginPage"),
    Anyone("loginForm"),
    Anyone("logoutForm"),
    Anyone("authorize"),
    Anyone("callback"),
    Anyone("openPage"),
    Anyone("openRedeem"),
    Anyone("originSignout"),
    Anyone("login"),
    SignedIn("logout"),
    SignedIn("whoami"),
    Admin("listUsers"),
    Admin("createUser"),
    OwnOrAdmin("getUser"),
    Admin("updateUser"),
    OwnOrAdmin("setPassword"),
    SignedIn("listTokens"),
    SignedIn("createToken"),
    SignedIn("deleteToken"),
    SignedIn("uploadCode"),
    SignedIn("putCode"),
    SignedIn("apply"),
    SignedIn("listProjects"),
    Admin("createProject"),
    See("getProject"),
    Project("applyProject", kNo, kNo, kYes, kYes),
    Admin("deleteProject"),
    SignedIn("listAllNotebooks"),
    See("listNotebooks"),
    Submit("createNotebook"),
    See("getNotebook"),
    Submit("applyNotebook"),
    End("deleteNotebook"),
    End("stopNotebook"),
    End("startNotebook"),
    Project("openNotebook", kNo, kOwn, kOwn, kOwn),
    See("getNotebookLog"),
    See("listNotebookEvents"),
    See("explainNotebook"),
    SignedIn("listAllTrainingJobs"),
    See("listTrainingJobs"),
    Submit("createTrainingJob"),
    See("getTrainingJob"),
    Submit("applyTrainingJob"),
    End("deleteTrainingJob"),
    End("stopTrainingJob"),
    See("getTrainingJobResult"),
    See("getTrainingJobLog"),
    See("listTrainingJobEvents"),
    See("explainTrainingJob"),
};

}  // namespace

std::span<const OperationRow> Operations() { return kOperations; }

const OperationRow* FindOperation(std::string_view operation) {
  const auto* row = std::ranges::find(kOperations, operation, &OperationRow::operation);
  return row == std::end(kOperations) ? nullptr : row;
}

std::string_view StandingName(Standing standing) {
  constexpr std::string_view kNames[] = {"anyone", "signed-in", "viewer", "member", "lead", "admin"};
  return kNames[static_cast<size_t>(standing)];
}

std::vector<std::string> RolesOf(const OperationRow& row) {
  if (row.For(Standing::kAnyone) == kYes) return {"anyone"};
  if (row.For(Standing::kUser) == kYes) return {"signed-in"};
  std::vector<std::string> roles;
  // What everybody signed in may need not be said of each role again.
  const Grant everybody = row.For(Standing::kUser);
  for (Standing standing :
       {Standing::kAdmin, Standing::kLead, Standing::kMember, Standing::kViewer, Standing::kUser}) {
    const Grant grant = row.For(standing);
    if (grant == kNo || (grant == everybody && standing != Standing::kUser)) continue;
    roles.push_back(std::string(StandingName(standing)) + (grant == kOwn ? ":own" : ""));
  }
  return roles;
}

}  // namespace cubeplane::auth
