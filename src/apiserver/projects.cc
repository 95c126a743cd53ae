// Projects.
#include <algorithm>

#include "apiserver/handlers.h"
#include "apiserver/listing.h"
#include "apiserver/objects.h"
#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::apiserver {
namespace {

// A lead changes who belongs to the project and how it is called; what it may use is the operator's word.
Result<void> CheckLeadChange(const Context& context, const model::Project& sent) {
  if (context.standing != auth::Standing::kLead) return {};
  const state::ProjectPtr present = context.parts.ledger.FindProject(sent.metadata.name);
  if (!present) return Fail(ProjectNotFound(sent.metadata.name));
  model::Project allowed = *present;
  allowed.spec.members = sent.spec.members;
  allowed.spec.contacts = sent.spec.contacts;
  allowed.spec.display_name = sent.spec.display_name;
  model::Project asked = *present;
  asked.spec = sent.spec;
  if (model::ToJson(allowed)["spec"] == model::ToJson(asked)["spec"]) return {};
  return Fail(Error(Code::kForbidden, "lead_changes_members_only", {{"project", sent.metadata.name}},
                    "a lead changes members, contacts and the display name only"));
}

http::Response Changed(const Context& context, const state::Changed<model::Project>& changed) {
  http::Response response =
      ObjectResponse(changed.created ? 201 : 200, ProjectObject(context, changed.object));
  if (changed.replayed) response.headers.Set("Idempotent-Replayed", "true");
  return response;
}

}  // namespace

Result<Sent<model::Project>> ReadProject(const Context& context, const json::Value& body) {
  Sent<model::Project> sent;
  ASSIGN_OR_RETURN(sent.object, model::ParseProject(body));
  ASSIGN_OR_RETURN(sent.expected, ExpectedVersion(context, body));
  const std::string name = context.Param("project");
  if (!name.empty() && sent.object.metadata.name != name) {
    return Fail(
        BadField(Code::kInvalid, "metadata.name", sent.object.metadata.name, name + ", as in the path"));
  }
  return sent;
}

async::Task<Answer> ListProjects(Context& context) {
  std::vector<Listed> all;
  for (const state::ProjectPtr& project : context.parts.ledger.Projects()) {
    const model::Metadata& metadata = project->metadata;
    if (!MaySee(context, "Project", "", metadata.name)) continue;
    all.push_back({metadata.name, metadata.uid, &metadata.labels,
                   [&context, project] { return ProjectObject(context, *project); }});
  }
  // A watch outlives the context: it gives the objects as events do, without their use.
  const Result<bool> watch = BoolQuery(context, "watch");
  CO_RETURN_IF_ERROR(watch);
  if (*watch) {
    for (Listed& one : all) {
      const state::ProjectPtr project = context.parts.ledger.FindProject(one.key);
      one.render = [project] { return model::ToJson(*project); };
    }
  }
  Scope scope;
  scope.kind = "Project";
  Answer answer = co_await ListOrWatch(context, std::move(scope), std::move(all));
  co_return answer;
}

async::Task<Answer> GetProject(Context& context) {
  const state::ProjectPtr project = context.parts.ledger.FindProject(context.Param("project"));
  if (!project) co_return Fail(ProjectNotFound(context.Param("project")));
  co_return ObjectResponse(200, ProjectObject(context, *project));
}

async::Task<Answer> CreateProject(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  Result<Sent<model::Project>> sent = ReadProject(context, *body);
  CO_RETURN_IF_ERROR(sent);
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  // Version 0: it must not be there yet.
  Result<state::Changed<model::Project>> changed =
      co_await context.parts.ledger.ApplyProject(std::move(*call), std::move(sent->object), 0);
  CO_RETURN_IF_ERROR(changed);
  co_return Changed(context, *changed);
}

async::Task<Answer> ApplyProjectObject(Context& context, Sent<model::Project> sent) {
  const Result<void> allowed = CheckLeadChange(context, sent.object);
  CO_RETURN_IF_ERROR(allowed);
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<state::Changed<model::Project>> changed =
      co_await context.parts.ledger.ApplyProject(std::move(*call), std::move(sent.object), sent.expected);
  CO_RETURN_IF_ERROR(changed);
  co_return Changed(context, *changed);
}

async::Task<Answer> PutProject(Context& context) {
  const Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  Result<Sent<model::Project>> sent = ReadProject(context, *body);
  CO_RETURN_IF_ERROR(sent);
  Answer answer = co_await ApplyProjectObject(context, std::move(*sent));
  co_return answer;
}

async::Task<Answer> DeleteProject(Context& context) {
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  const std::string name = context.Param("project");
  Result<void> done = co_await context.parts.ledger.DeleteProject(std::move(*call), name);
  CO_RETURN_IF_ERROR(done);
  co_return JsonResponse(
      200, json::Object{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}, {"code", 200}});
}

}  // namespace cubeplane::apiserver
