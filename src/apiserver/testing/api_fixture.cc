#include "apiserver/testing/api_fixture.h"

namespace cubeplane::apiserver::testing {
namespace {

constexpr std::string_view kProject = R"(
apiVersion: cubeplane.io/v1
kind: Project
metadata: { name: demo }
spec:
  displayName: Demo
  members:
  - { user: lead-1, role: lead }
  - { user: member-1, role: member }
  - { user: member-2, role: member }
  - { user: viewer-1, role: viewer }
  bindings:
  - cluster: local
    quota: { requests.cpu: 4, limits.cpu: 4, requests.memory: 8Gi, limits.memory: 8Gi }
)";

async::Task<void> ReadInto(std::shared_ptr<http::BodyStream> stream, std::string& text, bool& ended) {
  for (;;) {
    Result<std::string> piece = co_await stream->Read();
    if (!piece || piece->empty()) {
      ended = true;
      if (!piece) text += "error: " + piece.error().message;
      co_return;
    }
    text += *piece;
  }
}

}  // namespace

ApiFixture::ApiFixture() {
  auto store = storage::OpenSqlite(executor_, clock_, {.path = ":memory:", .inline_mode = true});
  EXPECT_TRUE(store) << store.error().message;
  store_ = std::move(*store);
  auth::Settings settings;
  settings.hash_cost = {1, 8192};
  settings.hash_threads = 0;
  auth_ = std::make_unique<auth::Auth>(*store_, executor_, clock_, random_, settings);
  ledger_ = std::make_unique<state::Ledger>(*store_, clock_, random_, state::Ledger::Settings{});
  EXPECT_TRUE(Run(ledger_->Load()));
  api_ = std::make_unique<ApiServer>(
      Parts{*ledger_, *store_, *auth_, entry_, clusters_, clusters_, executor_, clock_, random_}, settings_);
  for (const char* user : {"admin", "lead-1", "member-1", "member-2", "viewer-1", "stranger-1"}) {
    EXPECT_TRUE(Run(auth_->CreateUser(user, "", std::string_view(user) == "admin", std::string(kPassword))));
    auto token = Run(auth_->CreateToken(user, "test", "", {}));
    EXPECT_TRUE(token);
    tokens_[user] = token->secret;
  }
  const http::Response made = Send({.method = "POST",
                                    .target = "/api/v1/projects",
                                    .as = "admin",
                                    .body = std::string(kProject),
                                    .type = "application/yaml"});
  EXPECT_EQ(made.status, 201) << made.body;
}

ApiFixture::~ApiFixture() { api_->Stop(); }

http::Response ApiFixture::SendRaw(http::Request request) { return Run(api_->Handle(std::move(request))); }

http::Response ApiFixture::Send(Ask ask) {
  http::Request request;
  request.method = std::move(ask.method);
  request.target = std::move(ask.target);
  request.headers = std::move(ask.headers);
  request.body = std::move(ask.body);
  request.peer.listener = "api";
  if (ask.as == "socket")
    request.peer.unix_uid = 0;
  else if (!ask.as.empty())
    request.headers.Set("Authorization", "Bearer " + tokens_.at(ask.as));
  if (!request.body.empty()) request.headers.Set("Content-Type", ask.type);
  return SendRaw(std::move(request));
}

std::string ApiFixture::ReadAvailable(const std::shared_ptr<http::BodyStream>& stream, bool* ended) {
  std::string text;
  bool done = false;
  {
    async::TaskGroup group(executor_);
    group.Spawn(ReadInto(stream, text, done));
    executor_.RunUntilIdle();
  }
  if (ended != nullptr) *ended = done;
  return text;
}

void ApiFixture::Submit(const std::string& kind, const std::string& name, const std::string& user) {
  const bool notebook = kind == "Notebook";
  json::Object spec{{"resources", json::Object{{"cpu", "100m"}, {"memory", "128Mi"}}}};
  if (!notebook) spec.Set("command", json::Array{json::Value("true")});
  const json::Value object(json::Object{{"apiVersion", "cubeplane.io/v1"},
                                        {"kind", kind},
                                        {"metadata", json::Object{{"name", name}, {"project", "demo"}}},
                                        {"spec", std::move(spec)}});
  const http::Response response =
      Send({.method = "POST",
            .target = std::string("/api/v1/projects/demo/") + (notebook ? "notebooks" : "trainingjobs"),
            .as = user,
            .body = json::Write(object)});
  ASSERT_EQ(response.status, 201) << response.body;
}

void ApiFixture::MakeRunning(const std::string& name) {
  const state::WorkloadPtr workload = ledger_->Find({model::WorkloadKind::kNotebook, "demo", name});
  ASSERT_TRUE(workload);
  const auto update = [this, name](model::WorkloadStatus& status) {
    status.phase = model::Phase::kRunning;
    status.address = entry_.OriginOf(state::HostOf(name, "demo", "localhost")) + "/";
  };
  const Result<void> done = Run(ledger_->UpdateStatus(workload->metadata.uid, update));
  ASSERT_TRUE(done) << done.error().message;
}

json::Value ApiFixture::Json(const http::Response& response) {
  Result<json::Value> value = json::Parse(response.body);
  EXPECT_TRUE(value) << response.body;
  return value ? *value : json::Value();
}

std::string ApiFixture::CodeOf(const http::Response& response) {
  const Result<json::Value> value = json::Parse(response.body);
  return value ? (*value)["details"]["code"].AsString() : std::string();
}

std::string ApiFixture::Describe(const http::Response& response) const {
  return std::to_string(response.status) + " " + response.body;
}

}  // namespace cubeplane::apiserver::testing
