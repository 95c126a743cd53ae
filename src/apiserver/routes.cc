// All operations, as api/openapi.yaml lists them.
#include "apiserver/handlers.h"

namespace cubeplane::apiserver {
namespace {

using Names = std::vector<std::string_view>;

const Names kList = {"watch",         "resourceVersion", "timeoutSeconds", "allowWatchBookmarks",
                     "labelSelector", "limit",           "continue"};
const Names kDryRun = {"dryRun"};
const Names kLog = {"follow", "attempt", "tail", "timestamps"};

// Operations of one kind; the names stand here because `Route` only views them.
struct KindNames {
  model::WorkloadKind kind;
  std::string_view all, list, path;
  std::string_view list_all, list_one, create, get, put, remove, stop, log, events, explain;
  std::string_view stop_path, log_path, events_path, explain_path;
};

constexpr KindNames kNotebooks{model::WorkloadKind::kNotebook,
                               "/api/v1/notebooks",
                               "/api/v1/projects/{project}/notebooks",
                               "/api/v1/projects/{project}/notebooks/{name}",
                               "listAllNotebooks",
                               "listNotebooks",
                               "createNotebook",
                               "getNotebook",
                               "applyNotebook",
                               "deleteNotebook",
                               "stopNotebook",
                               "getNotebookLog",
                               "listNotebookEvents",
                               "explainNotebook",
                               "/api/v1/projects/{project}/notebooks/{name}/stop",
                               "/api/v1/projects/{project}/notebooks/{name}/log",
                               "/api/v1/projects/{project}/notebooks/{name}/events",
                               "/api/v1/projects/{project}/notebooks/{name}/explain"};

constexpr KindNames kTrainingJobs{model::WorkloadKind::kTrainingJob,
                                  "/api/v1/trainingjobs",
                                  "/api/v1/projects/{project}/trainingjobs",
                                  "/api/v1/projects/{project}/trainingjobs/{name}",
                                  "listAllTrainingJobs",
                                  "listTrainingJobs",
                                  "createTrainingJob",
                                  "getTrainingJob",
                                  "applyTrainingJob",
                                  "deleteTrainingJob",
                                  "stopTrainingJob",
                                  "getTrainingJobLog",
                                  "listTrainingJobEvents",
                                  "explainTrainingJob",
                                  "/api/v1/projects/{project}/trainingjobs/{name}/stop",
                                  "/api/v1/projects/{project}/trainingjobs/{name}/log",
                                  "/api/v1/projects/{project}/trainingjobs/{name}/events",
                                  "/api/v1/projects/{project}/trainingjobs/{name}/explain"};

void AddKind(std::vector<Route>& routes, const KindNames& names) {
  const auto add = [&](std::string_view method, std::string_view path, std::string_view operation,
                       Handler handler, BodyKind body = BodyKind::kNone, const Names& query = {}) {
    routes.push_back({method, path, operation, handler, body, query, names.kind});
  };
  add("GET", names.all, names.list_all, ListWorkloads, BodyKind::kNone, kList);
  add("GET", names.list, names.list_one, ListWorkloads, BodyKind::kNone, kList);
  add("POST", names.list, names.create, CreateWorkload, BodyKind::kObject, kDryRun);
  add("GET", names.path, names.get, GetWorkload);
  add("PUT", names.path, names.put, PutWorkload, BodyKind::kObject, kDryRun);
  add("DELETE", names.path, names.remove, DeleteWorkload, BodyKind::kNone, kDryRun);
  add("POST", names.stop_path, names.stop, StopWorkload, BodyKind::kNone, kDryRun);
  add("GET", names.log_path, names.log, GetLog, BodyKind::kNone, kLog);
  add("GET", names.events_path, names.events, ListEvents);
  add("GET", names.explain_path, names.explain, Explain);
}

void AddSystem(std::vector<Route>& routes) {
  routes.push_back({"GET", "/healthz", "healthz", Healthz});
  routes.push_back({"GET", "/livez", "livez", Healthz});
  routes.push_back({"GET", "/readyz", "readyz", Readyz});
  routes.push_back({"GET", "/version", "version", Version});
  routes.push_back({"GET", "/metrics", "metrics", Metrics});
  routes.push_back({"GET", "/api/v1/openapi.yaml", "openapi", OpenApi});
  routes.push_back({"GET", "/api/v1/status", "getStatus", GetStatus});
  routes.push_back({"GET", "/api/v1/audit", "listAudit", ListAudit, BodyKind::kNone, {"after", "limit"}});
}

void AddSignIn(std::vector<Route>& routes) {
  const auto origin = [&](std::string_view method, std::string_view path, std::string_view operation,
                          Handler handler, BodyKind body = BodyKind::kNone, const Names& query = {}) {
    routes.push_back({method, path, operation, handler, body, query, {}, true});
  };
  routes.push_back({"GET", "/", "home", Home});
  routes.push_back({"GET", "/login", "loginPage", LoginPage, BodyKind::kNone, {"next"}});
  routes.push_back({"POST", "/login", "loginForm", LoginForm, BodyKind::kForm});
  routes.push_back({"POST", "/logout", "logoutForm", LogoutForm, BodyKind::kForm});
  routes.push_back(
      {"GET", "/authorize", "authorize", AuthorizeOrigin, BodyKind::kNone, {"host", "state", "next"}});
  origin("GET", "/.cubeplane/callback", "callback", Callback, BodyKind::kNone, {"code", "state"});
  origin("GET", "/.cubeplane/open", "openPage", OpenPage, BodyKind::kNone, {"t"});
  origin("POST", "/.cubeplane/open", "openRedeem", OpenRedeem, BodyKind::kForm, {"t"});
  origin("POST", "/.cubeplane/signout", "originSignout", OriginSignout, BodyKind::kForm);
  for (Route& route : routes) route.page = true;
}

void AddAccounts(std::vector<Route>& routes) {
  routes.push_back({"POST", "/api/v1/login", "login", LogIn, BodyKind::kJson});
  routes.push_back({"POST", "/api/v1/logout", "logout", LogOut});
  routes.push_back({"GET", "/api/v1/whoami", "whoami", WhoAmI});
  routes.push_back({"GET", "/api/v1/users", "listUsers", ListUsers});
  routes.push_back({"POST", "/api/v1/users", "createUser", CreateUser, BodyKind::kJson});
  routes.push_back({"GET", "/api/v1/users/{user}", "getUser", GetUser});
  routes.push_back({"PUT", "/api/v1/users/{user}", "updateUser", UpdateUser, BodyKind::kJson});
  routes.push_back({"POST", "/api/v1/users/{user}/password", "setPassword", SetPassword, BodyKind::kJson});
  routes.push_back({"GET", "/api/v1/tokens", "listTokens", ListTokens});
  routes.push_back({"POST", "/api/v1/tokens", "createToken", CreateToken, BodyKind::kJson});
  routes.push_back({"DELETE", "/api/v1/tokens/{id}", "deleteToken", DeleteToken});
}

void AddObjects(std::vector<Route>& routes) {
  routes.push_back({"POST", "/api/v1/code", "uploadCode", UploadCode, BodyKind::kArchive});
  routes.push_back({"PUT", "/api/v1/code/{digest}", "putCode", PutCode, BodyKind::kArchive});
  routes.push_back({"POST", "/api/v1/apply", "apply", Apply, BodyKind::kObject, kDryRun});
  routes.push_back({"GET", "/api/v1/projects", "listProjects", ListProjects, BodyKind::kNone, kList});
  routes.push_back({"POST", "/api/v1/projects", "createProject", CreateProject, BodyKind::kObject, kDryRun});
  routes.push_back({"GET", "/api/v1/projects/{project}", "getProject", GetProject});
  routes.push_back(
      {"PUT", "/api/v1/projects/{project}", "applyProject", PutProject, BodyKind::kObject, kDryRun});
  routes.push_back(
      {"DELETE", "/api/v1/projects/{project}", "deleteProject", DeleteProject, BodyKind::kNone, kDryRun});
  AddKind(routes, kNotebooks);
  AddKind(routes, kTrainingJobs);
  const auto notebook = model::WorkloadKind::kNotebook;
  routes.push_back({"POST", "/api/v1/projects/{project}/notebooks/{name}/start", "startNotebook",
                    StartWorkload, BodyKind::kNone, kDryRun, notebook});
  routes.push_back({"POST",
                    "/api/v1/projects/{project}/notebooks/{name}/open",
                    "openNotebook",
                    OpenNotebook,
                    BodyKind::kNone,
                    {},
                    notebook});
  routes.push_back({"GET",
                    "/api/v1/projects/{project}/trainingjobs/{name}/result",
                    "getTrainingJobResult",
                    GetResult,
                    BodyKind::kNone,
                    {},
                    model::WorkloadKind::kTrainingJob});
}

std::vector<Route> Make() {
  std::vector<Route> routes;
  AddSignIn(routes);
  AddSystem(routes);
  AddAccounts(routes);
  AddObjects(routes);
  for (Route& route : routes) route.segments = SplitPath(route.path);
  return routes;
}

}  // namespace

const std::vector<Route>& Routes() {
  static const std::vector<Route> kRoutes = Make();
  return kRoutes;
}

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

}  // namespace cubeplane::apiserver
