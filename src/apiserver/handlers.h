// One handler per operation, one file per resource. `context` outlives the call.
#pragma once

#include "apiserver/context.h"

namespace cubeplane::apiserver {

// system.cc
async::Task<Answer> Healthz(Context& context);
async::Task<Answer> Readyz(Context& context);
async::Task<Answer> Version(Context& context);
async::Task<Answer> Metrics(Context& context);
async::Task<Answer> OpenApi(Context& context);
async::Task<Answer> ListAudit(Context& context);
// status.cc
async::Task<Answer> GetStatus(Context& context);

// account.cc
async::Task<Answer> LogIn(Context& context);
async::Task<Answer> LogOut(Context& context);
async::Task<Answer> WhoAmI(Context& context);
async::Task<Answer> ListTokens(Context& context);
async::Task<Answer> CreateToken(Context& context);
async::Task<Answer> DeleteToken(Context& context);
// users.cc
async::Task<Answer> ListUsers(Context& context);
async::Task<Answer> CreateUser(Context& context);
async::Task<Answer> GetUser(Context& context);
async::Task<Answer> UpdateUser(Context& context);
async::Task<Answer> SetPassword(Context& context);

// platform_pages.cc
async::Task<Answer> Home(Context& context);
async::Task<Answer> LoginPage(Context& context);
async::Task<Answer> LoginForm(Context& context);
async::Task<Answer> LogoutForm(Context& context);
// signin.cc
async::Task<Answer> AuthorizeOrigin(Context& context);
async::Task<Answer> Callback(Context& context);
async::Task<Answer> OpenPage(Context& context);
async::Task<Answer> OpenRedeem(Context& context);
async::Task<Answer> OriginSignout(Context& context);

// code.cc
async::Task<Answer> UploadCode(Context& context);
async::Task<Answer> PutCode(Context& context);

// projects.cc
async::Task<Answer> ListProjects(Context& context);
async::Task<Answer> CreateProject(Context& context);
async::Task<Answer> GetProject(Context& context);
async::Task<Answer> PutProject(Context& context);
async::Task<Answer> DeleteProject(Context& context);

// workloads.cc
async::Task<Answer> Apply(Context& context);
async::Task<Answer> ListWorkloads(Context& context);
async::Task<Answer> CreateWorkload(Context& context);
async::Task<Answer> GetWorkload(Context& context);
async::Task<Answer> PutWorkload(Context& context);
async::Task<Answer> DeleteWorkload(Context& context);
async::Task<Answer> StopWorkload(Context& context);
async::Task<Answer> StartWorkload(Context& context);
async::Task<Answer> GetResult(Context& context);
async::Task<Answer> OpenNotebook(Context& context);
// log.cc, events.cc, explain.cc
async::Task<Answer> GetLog(Context& context);
async::Task<Answer> ListEvents(Context& context);
async::Task<Answer> Explain(Context& context);

}  // namespace cubeplane::apiserver
