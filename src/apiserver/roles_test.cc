// The contract, the matrix and the running server say the same about who may do what.
#include "auth/roles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "apiserver/openapi.h"
#include "apiserver/roles_document.h"
#include "apiserver/testing/api_fixture.h"

namespace cubeplane::apiserver {
namespace {

using auth::Grant;
using auth::Standing;

struct Documented {
  std::string method, path, operation;
  std::vector<std::string> roles, query;
};

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<Documented> ReadDocument() {
  const auto documents = json::ParseYaml(OpenApiDocument());
  EXPECT_TRUE(documents) << documents.error().message;
  std::vector<Documented> operations;
  const json::Value& document = documents->front();
  for (const auto& [path, item] : document["paths"].AsObject()) {
    for (const auto& [method, operation] : item.AsObject()) {
      if (method == "parameters") continue;
      Documented read{Upper(method), path, operation["operationId"].AsString(), {}, {}};
      for (const json::Value& role : operation["x-cubeplane-roles"].AsArray())
        read.roles.push_back(role.AsString());
      for (const json::Value& parameter : operation["parameters"].AsArray()) {
        const std::string& ref = parameter["$ref"].AsString();
        const json::Value& defined = document["components"]["parameters"][ref.substr(ref.rfind('/') + 1)];
        if (defined["in"].AsString() == "query") read.query.push_back(defined["name"].AsString());
      }
      operations.push_back(std::move(read));
    }
  }
  return operations;
}

TEST(Roles, TheContractTheRoutesAndTheMatrixHaveTheSameOperations) {
  std::set<std::string> documented, routed, rows;
  for (const Documented& one : ReadDocument())
    documented.insert(one.method + " " + one.path + " " + one.operation);
  for (const Route& route : Routes()) {
    routed.insert(std::string(route.method) + " " + std::string(route.path) + " " +
                  std::string(route.operation));
    EXPECT_NE(auth::FindOperation(route.operation), nullptr) << route.operation << " has no row";
  }
  EXPECT_EQ(documented, routed);
  for (const auto& row : auth::Operations())
    EXPECT_TRUE(rows.insert(std::string(row.operation)).second) << row.operation;
  EXPECT_EQ(rows.size(), routed.size());
}

TEST(Roles, TheContractSaysTheRolesAndParametersOfEachOperation) {
  for (const Documented& one : ReadDocument()) {
    const auth::OperationRow* row = auth::FindOperation(one.operation);
    ASSERT_NE(row, nullptr) << one.operation;
    EXPECT_EQ(one.roles, auth::RolesOf(*row)) << one.operation;
    const auto route = std::ranges::find(Routes(), std::string_view(one.operation), &Route::operation);
    ASSERT_NE(route, Routes().end());
    std::set<std::string> known(route->query.begin(), route->query.end());
    if (one.operation == "openRedeem")
      known.erase("t");  // the form's field; the page keeps it in the address
    EXPECT_EQ(std::set<std::string>(one.query.begin(), one.query.end()), known) << one.operation;
  }
}

TEST(Roles, AnUnknownOperationHasNoRow) { EXPECT_EQ(auth::FindOperation("deleteEverything"), nullptr); }

TEST(Roles, TheDocumentIsTheMatrix) {
  const std::string path = "docs/roles.md";
  if (std::getenv("CUBEPLANE_UPDATE_DOCS") != nullptr) std::ofstream(path) << RolesDocument();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), RolesDocument()) << "run CUBEPLANE_UPDATE_DOCS=1 apiserver_test";
}

// Whom the walk sends, and on whose things.
struct Caller {
  const char* user;  // "" nobody
  Standing in_project, elsewhere;
};
constexpr Caller kCallers[] = {
    {"", Standing::kAnyone, Standing::kAnyone},       {"stranger-1", Standing::kUser, Standing::kUser},
    {"viewer-1", Standing::kViewer, Standing::kUser}, {"member-1", Standing::kMember, Standing::kUser},
    {"lead-1", Standing::kLead, Standing::kUser},     {"admin", Standing::kAdmin, Standing::kAdmin},
};

const std::set<std::string> kRefusals = {"not_signed_in", "role_missing", "not_owner", "owner_only",
                                         "project_not_found"};

class RoleWalk : public testing::ApiFixture {
 protected:
  // "/api/v1/projects/demo/notebooks/of-member-1" and the like.
  std::string TargetFor(const Route& route, const std::string& owner) {
    std::string target;
    for (const std::string_view part : route.segments) {
      target += "/";
      if (part == "{project}")
        target += "demo";
      else if (part == "{name}")
        target += "of-" + owner;
      else if (part == "{user}")
        target += owner;
      else if (part == "{id}")
        target += "none";
      else if (part == "{digest}")
        target += "sha256:" + std::string(64, '0');
      else
        target += part;
    }
    return target;
  }

  http::Response Ask(const Route& route, const std::string& user, const std::string& owner) {
    http::Request request;
    request.method = std::string(route.method);
    request.target = TargetFor(route, owner);
    request.peer.listener = "platform";
    request.headers.Set("Host", "localhost:8080");
    if (route.on_origin) {
      request.headers.Set("X-Cubeplane-Signin", "1");
      request.headers.Set("X-Cubeplane-Host", "of-" + owner + "--demo.localhost");
    }
    if (!user.empty()) request.headers.Set("Authorization", "Bearer " + tokens_.at(user));
    return SendRaw(std::move(request));
  }

  void Check(const Route& route, const Caller& caller, const std::string& owner) {
    const auth::OperationRow& row = *auth::FindOperation(route.operation);
    const Standing standing = row.in_project ? caller.in_project : caller.elsewhere;
    const Grant grant = row.For(standing);
    const bool may = grant == Grant::kYes || (grant == Grant::kOwn && owner == caller.user);
    const http::Response response = Ask(route, caller.user, owner);
    const std::string what = std::string(route.operation) + " by " + (*caller.user ? caller.user : "nobody") +
                             " on " + owner + "'s: " + Describe(response);
    EXPECT_LT(response.status, 500) << what;
    const bool refused = kRefusals.contains(CodeOf(response));
    EXPECT_EQ(refused, !may) << what;
    if (may) return;
    if (standing == Standing::kAnyone)
      EXPECT_EQ(response.status, 401) << what;
    else if (row.in_project && standing == Standing::kUser)
      EXPECT_EQ(response.status, 404) << what;
    else
      EXPECT_EQ(response.status, 403) << what;
  }
};

TEST_F(RoleWalk, EveryOperationAnswersEveryRoleAsTheMatrixSays) {
  size_t asked = 0;
  for (const Route& route : Routes()) {
    for (const Caller& caller : kCallers) {
      for (const std::string& owner : {std::string(caller.user), std::string("member-2")}) {
        if (owner.empty()) continue;
        // What an operation before this one ended is made again.
        if (route.kind && owner != "viewer-1" && owner != "stranger-1" &&
            !ledger_->Find({*route.kind, "demo", "of-" + owner})) {
          Submit(std::string(model::KindName(*route.kind)), "of-" + owner, owner);
        }
        // A viewer and a stranger own nothing here: what is asked of them stands on others' things.
        const bool owns_none = owner == "viewer-1" || owner == "stranger-1";
        if (route.kind && owns_none) continue;
        if (route.operation == "deleteProject" && std::string_view(caller.user) == "admin")
          continue;  // it would go
        Check(route, caller, owner);
        if (route.operation == "logout" && *caller.user) {
          tokens_[caller.user] = Run(auth_->CreateToken(caller.user, "again", "", {}))->secret;
        }
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 500u);
}

TEST_F(RoleWalk, AStrangerIsToldTheSameOfAProjectThatIsThereAndOfOneThatIsNot) {
  Submit("TrainingJob", "of-member-1", "member-1");
  for (const char* path : {"", "/notebooks", "/trainingjobs", "/trainingjobs/of-member-1",
                           "/trainingjobs/of-member-1/log", "/trainingjobs/of-member-1/explain"}) {
    const http::Response there =
        Send({.target = "/api/v1/projects/demo" + std::string(path), .as = "stranger-1"});
    const http::Response absent =
        Send({.target = "/api/v1/projects/nope" + std::string(path), .as = "stranger-1"});
    EXPECT_EQ(there.status, 404) << path;
    EXPECT_EQ(absent.status, 404) << path;
    EXPECT_EQ(CodeOf(there), CodeOf(absent)) << path;
    EXPECT_EQ(there.body.find("member-1 "), std::string::npos);
  }
}

TEST_F(RoleWalk, ATokenThatReadsOnlyChangesNothing) {
  tokens_["reader"] = Run(auth_->CreateToken("admin", "read", "read", {}))->secret;
  for (const Route& route : Routes()) {
    if (route.on_origin || auth::FindOperation(route.operation)->For(Standing::kAnyone) == Grant::kYes)
      continue;
    const http::Response response = Ask(route, "reader", "admin");
    if (route.method == "GET")
      EXPECT_NE(CodeOf(response), "token_read_only") << route.operation;
    else
      EXPECT_EQ(CodeOf(response), "token_read_only") << route.operation << " " << Describe(response);
  }
}

TEST_F(RoleWalk, ApplyAsksForTheRowOfWhatItsManifestDoes) {
  const std::string project =
      "{apiVersion: cubeplane.io/v1, kind: Project, metadata: {name: NAME}, spec: {displayName: X}}";
  const auto apply = [&](std::string user, std::string text) {
    return Send({.method = "POST",
                 .target = "/api/v1/apply",
                 .as = std::move(user),
                 .body = std::move(text),
                 .type = "application/yaml"});
  };
  std::string fresh = project, demo = project;
  fresh.replace(fresh.find("NAME"), 4, "fresh");
  demo.replace(demo.find("NAME"), 4, "demo");
  EXPECT_EQ(CodeOf(apply("member-1", fresh)), "project_not_found");
  EXPECT_EQ(CodeOf(apply("member-1", demo)), "role_missing");
  EXPECT_EQ(CodeOf(apply("lead-1", demo)), "lead_changes_members_only") << "it would take the bindings away";
  EXPECT_EQ(apply("admin", fresh).status, 201);
  const std::string job =
      "{apiVersion: cubeplane.io/v1, kind: TrainingJob, metadata: {name: job, project: demo}, spec: "
      "{command: ['true']}}";
  EXPECT_EQ(CodeOf(apply("viewer-1", job)), "role_missing");
  EXPECT_EQ(CodeOf(apply("stranger-1", job)), "project_not_found");
  EXPECT_EQ(apply("member-1", job).status, 201);
  EXPECT_EQ(CodeOf(apply("member-2", job)), "not_owner");
  EXPECT_EQ(apply("lead-1", job).status, 200);
}

}  // namespace
}  // namespace cubeplane::apiserver
