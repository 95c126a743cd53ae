// Notebooks and training jobs.
#include "apiserver/handlers.h"
#include "apiserver/listing.h"
#include "apiserver/objects.h"
#include "json/json.h"
#include "model/codec.h"

namespace cubeplane::apiserver {
namespace {

state::WorkloadKey KeyOf(const Context& context) {
  return {*context.route->kind, context.Param("project"), context.Param("name")};
}

Result<state::WorkloadPtr> FindWorkload(const Context& context) {
  const state::WorkloadKey key = KeyOf(context);
  state::WorkloadPtr workload = context.parts.ledger.Find(key);
  if (!workload) return Fail(WorkloadNotFound(key.kind, key.project, key.name));
  return workload;
}

http::Response Changed(const state::Changed<model::Workload>& changed) {
  http::Response response = ObjectResponse(changed.created ? 201 : 200, model::ToJson(changed.object));
  if (changed.replayed) response.headers.Set("Idempotent-Replayed", "true");
  return response;
}

async::Task<Answer> Create(Context& context, Sent<model::Workload> sent) {
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<state::Changed<model::Workload>> changed =
      co_await context.parts.ledger.CreateWorkload(std::move(*call), std::move(sent.object));
  CO_RETURN_IF_ERROR(changed);
  co_return Changed(*changed);
}

}  // namespace

std::string OperationFor(std::string_view verb, model::WorkloadKind kind) {
  return std::string(verb) + std::string(model::KindName(kind));
}

Result<Sent<model::Workload>> ReadWorkload(const Context& context, json::Value body) {
  Sent<model::Workload> sent;
  ASSIGN_OR_RETURN(sent.expected, ExpectedVersion(context, body));
  ASSIGN_OR_RETURN(sent.object, model::ParseWorkload(body));
  model::Metadata& metadata = sent.object.metadata;
  const std::string project = context.Param("project"), name = context.Param("name");
  if (context.route->kind && sent.object.kind != *context.route->kind) {
    return Fail(BadField(Code::kInvalid, "kind", std::string(model::KindName(sent.object.kind)),
                         std::string(model::KindName(*context.route->kind)) + ", as in the path"));
  }
  if (metadata.project.empty()) metadata.project = project;
  if (metadata.project.empty())
    return Fail(BadField(Code::kInvalid, "metadata.project", "nothing", "the name of a project"));
  if (!project.empty() && metadata.project != project) {
    return Fail(BadField(Code::kInvalid, "metadata.project", metadata.project, project + ", as in the path"));
  }
  if (!name.empty() && metadata.name != name) {
    return Fail(BadField(Code::kInvalid, "metadata.name", metadata.name, name + ", as in the path"));
  }
  return sent;
}

async::Task<Answer> ListWorkloads(Context& context) {
  Scope scope;
  scope.kind = std::string(model::KindName(*context.route->kind));
  scope.project = context.Param("project");
  if (!scope.project.empty() && !context.parts.ledger.FindProject(scope.project)) {
    co_return Fail(ProjectNotFound(scope.project));
  }
  std::vector<Listed> all;
  for (const state::WorkloadPtr& workload : context.parts.ledger.Workloads(scope.project)) {
    const model::Metadata& metadata = workload->metadata;
    if (workload->kind != *context.route->kind ||
        !MaySee(context, scope.kind, metadata.project, metadata.name))
      continue;
    all.push_back(
        {metadata.uid, metadata.uid, &metadata.labels, [workload] { return model::ToJson(*workload); }});
  }
  Answer answer = co_await ListOrWatch(context, std::move(scope), std::move(all));
  co_return answer;
}

async::Task<Answer> GetWorkload(Context& context) {
  const Result<state::WorkloadPtr> workload = FindWorkload(context);
  CO_RETURN_IF_ERROR(workload);
  co_return ObjectResponse(200, model::ToJson(**workload));
}

async::Task<Answer> CreateWorkload(Context& context) {
  Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  Result<Sent<model::Workload>> sent = ReadWorkload(context, std::move(*body));
  CO_RETURN_IF_ERROR(sent);
  Answer answer = co_await Create(context, std::move(*sent));
  co_return answer;
}

async::Task<Answer> ApplyWorkloadObject(Context& context, Sent<model::Workload> sent) {
  const model::Metadata& metadata = sent.object.metadata;
  const state::WorkloadPtr present =
      context.parts.ledger.Find({sent.object.kind, metadata.project, metadata.name});
  if (!present && !sent.expected) {
    Answer answer = co_await Create(context, std::move(sent));
    co_return answer;
  }
  if (!present) co_return Fail(WorkloadNotFound(sent.object.kind, metadata.project, metadata.name));
  // Whoever may submit may change what is theirs; of others only who may end it may.
  const Target target{metadata.project, "", sent.object.kind, metadata.name};
  const Result<void> allowed = Authorize(context, OperationFor("delete", sent.object.kind), target);
  CO_RETURN_IF_ERROR(allowed);
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<state::Changed<model::Workload>> changed =
      co_await context.parts.ledger.UpdateWorkload(std::move(*call), std::move(sent.object), sent.expected);
  CO_RETURN_IF_ERROR(changed);
  co_return Changed(*changed);
}

async::Task<Answer> PutWorkload(Context& context) {
  Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  Result<Sent<model::Workload>> sent = ReadWorkload(context, std::move(*body));
  CO_RETURN_IF_ERROR(sent);
  Answer answer = co_await ApplyWorkloadObject(context, std::move(*sent));
  co_return answer;
}

async::Task<Answer> Apply(Context& context) {
  Result<json::Value> body = ReadBody(context);
  CO_RETURN_IF_ERROR(body);
  if ((*body)["kind"].AsString() == "Project") {
    Result<Sent<model::Project>> sent = ReadProject(context, *body);
    CO_RETURN_IF_ERROR(sent);
    const Target target{sent->object.metadata.name, "", {}, ""};
    const Result<void> allowed = Authorize(context, "applyProject", target);
    CO_RETURN_IF_ERROR(allowed);
    Answer answer = co_await ApplyProjectObject(context, std::move(*sent));
    co_return answer;
  }
  if (!model::ParseKind((*body)["kind"].AsString())) {
    const Result<model::Object> read = model::ParseObject(*body);
    CO_RETURN_IF_ERROR(read);
  }
  Result<Sent<model::Workload>> sent = ReadWorkload(context, std::move(*body));
  CO_RETURN_IF_ERROR(sent);
  const Target target{sent->object.metadata.project, "", sent->object.kind, sent->object.metadata.name};
  const Result<void> allowed = Authorize(context, OperationFor("apply", sent->object.kind), target);
  CO_RETURN_IF_ERROR(allowed);
  Answer answer = co_await ApplyWorkloadObject(context, std::move(*sent));
  co_return answer;
}

async::Task<Answer> DeleteWorkload(Context& context) {
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<model::Workload> workload =
      co_await context.parts.ledger.DeleteWorkload(std::move(*call), KeyOf(context));
  CO_RETURN_IF_ERROR(workload);
  co_return ObjectResponse(200, model::ToJson(*workload));
}

async::Task<Answer> StopWorkload(Context& context) {
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<model::Workload> workload =
      co_await context.parts.ledger.StopWorkload(std::move(*call), KeyOf(context));
  CO_RETURN_IF_ERROR(workload);
  co_return ObjectResponse(200, model::ToJson(*workload));
}

async::Task<Answer> StartWorkload(Context& context) {
  Result<state::Call> call = CallOf(context);
  CO_RETURN_IF_ERROR(call);
  Result<model::Workload> workload =
      co_await context.parts.ledger.StartWorkload(std::move(*call), KeyOf(context));
  CO_RETURN_IF_ERROR(workload);
  co_return ObjectResponse(200, model::ToJson(*workload));
}

async::Task<Answer> GetResult(Context& context) {
  const Result<state::WorkloadPtr> workload = FindWorkload(context);
  CO_RETURN_IF_ERROR(workload);
  const std::string& text = (*workload)->status.result;
  const std::string& name = (*workload)->metadata.name;
  if (text.empty()) {
    const char* code = model::IsTerminal((*workload)->status.phase) ? "no_result" : "no_result_yet";
    co_return Fail(Error(Code::kNotFound, code, {{"name", name}}, name + " has no result"));
  }
  // What the job wrote need not be JSON: then it is given as a string.
  Result<json::Value> value = json::Parse(text);
  co_return JsonResponse(200, value ? std::move(*value) : json::Value(text));
}

async::Task<Answer> OpenNotebook(Context& context) {
  const Result<state::WorkloadPtr> found = FindWorkload(context);
  CO_RETURN_IF_ERROR(found);
  const state::WorkloadPtr& workload = *found;
  if (workload->status.phase != model::Phase::kRunning || workload->status.address.empty()) {
    co_return Fail(Error(
        Code::kConflict, "workload_not_running",
        {{"name", workload->metadata.name}, {"phase", std::string(model::PhaseName(workload->status.phase))}},
        workload->metadata.name + " cannot be opened: it is " +
            std::string(model::PhaseName(workload->status.phase))));
  }
  const std::string host =
      state::HostOf(workload->metadata.name, workload->metadata.project, context.settings.domain);
  const bool browser = context.principal->via == auth::Principal::Via::kSession;
  Result<auth::Link> link = co_await context.parts.auth.MakeLink(
      context.user(), host, workload->metadata.uid, browser ? context.principal->credential : "");
  CO_RETURN_IF_ERROR(link);
  Result<void> audited = co_await Audit(
      context, "open", "Notebook/" + workload->metadata.project + "/" + workload->metadata.name,
      json::Object{{"host", host}});
  CO_RETURN_IF_ERROR(audited);
  co_return JsonResponse(
      201, json::Object{{"url", context.parts.entry.OriginOf(host) + "/.cubeplane/open?t=" + link->secret},
                        {"host", host},
                        {"expiresAt", FormatTime(link->expires)}});
}

}  // namespace cubeplane::apiserver
