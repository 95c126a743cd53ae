// Signing in: password, cookie, codes, one-time links, and what a foreign page or client tries.
#include <gtest/gtest.h>

#include "apiserver/pages.h"
#include "apiserver/testing/api_fixture.h"
#include "base/strings.h"

namespace cubeplane::apiserver {
namespace {

using testing::ApiFixture;
using testing::kPassword;

constexpr const char* kHost = "nb--demo.localhost";
const std::string kState(64, 'a');

class SignInTest : public ApiFixture {
 protected:
  // As a browser would, through the gateway, on the platform's origin.
  http::Request OnPlatform(std::string method, std::string target, const std::string& cookie = "") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.peer.listener = "platform";
    request.headers.Set("Host", "localhost:8080");
    request.headers.Set("X-Forwarded-Proto", "http");
    if (!cookie.empty()) request.headers.Set("Cookie", entry_.cookie_name() + "=" + cookie);
    if (request.method != "GET") request.headers.Set("Origin", "http://localhost:8080");
    return request;
  }
  http::Request OnOrigin(std::string method, std::string target, const std::string& cookies = "",
                         const std::string& host = kHost) {
    http::Request request = OnPlatform(std::move(method), std::move(target));
    request.headers.Set("Host", host + ":8080");
    request.headers.Set("X-Cubeplane-Signin", "1");
    request.headers.Set("X-Cubeplane-Host", host);
    if (!cookies.empty()) request.headers.Set("Cookie", cookies);
    if (request.method != "GET") request.headers.Set("Origin", "http://" + host + ":8080");
    return request;
  }
  static void SetForm(http::Request& request, std::string body) {
    request.headers.Set("Content-Type", "application/x-www-form-urlencoded");
    request.body = std::move(body);
  }
  // The value of the cookie that an answer sets.
  std::string Given(const http::Response& response, const std::string& name) {
    for (const auto& [field, value] : response.headers) {
      if (field == "Set-Cookie" && value.starts_with(name + "="))
        return value.substr(name.size() + 1, value.find(';') - name.size() - 1);
    }
    return "";
  }
  std::string LogIn(const std::string& user) {
    http::Request request = OnPlatform("POST", "/login");
    SetForm(request,
            "user=" + user + "&password=" + http::PercentEncode(std::string(kPassword)) + "&next=%2F");
    const http::Response response = SendRaw(std::move(request));
    EXPECT_EQ(response.status, 303) << response.body;
    return Given(response, entry_.cookie_name());
  }
  std::string Authorize(const std::string& next = "/lab") {
    return "/authorize?host=" + std::string(kHost) + "&state=" + kState +
           "&next=" + http::PercentEncode(next);
  }
  std::string StateCookie(const std::string& value = kState) {
    return entry_.cookie_name() + "-s-a=" + value;
  }
  // The callback's path that the platform sends the browser to.
  std::string CallbackFor(const std::string& session, const std::string& next = "/lab") {
    const http::Response response = SendRaw(OnPlatform("GET", Authorize(next), session));
    EXPECT_EQ(response.status, 303) << response.body;
    const std::string location(response.headers.Get("Location"));
    const std::string origin = "http://" + std::string(kHost) + ":8080";
    EXPECT_TRUE(location.starts_with(origin + "/.cubeplane/callback?")) << location;
    return location.substr(std::min(origin.size(), location.size()));
  }
  void StartNotebook(const std::string& owner = "member-1") {
    Submit("Notebook", "nb", owner);
    MakeRunning("nb");
  }
  std::string LinkOf(const std::string& owner) {
    const http::Response made =
        Send({.method = "POST", .target = "/api/v1/projects/demo/notebooks/nb/open", .as = owner});
    EXPECT_EQ(made.status, 201) << made.body;
    const std::string url = Json(made)["url"].AsString();
    EXPECT_TRUE(url.starts_with("http://nb--demo.localhost:8080/.cubeplane/open?t=")) << url;
    return url.substr(url.find("t=") + 2);
  }
};

TEST_F(SignInTest, APasswordGivesATokenOrACookieAndTheWrongOneNeither) {
  const auto log_in = [&](const std::string& password) {
    return Send({.method = "POST",
                 .target = "/api/v1/login",
                 .body = R"({"user":"member-1","password":")" + password + R"("})"});
  };
  const http::Response right = log_in(std::string(kPassword));
  ASSERT_EQ(right.status, 200) << right.body;
  tokens_["new"] = Json(right)["token"].AsString();
  EXPECT_EQ(Json(Send({.target = "/api/v1/whoami", .as = "new"}))["user"].AsString(), "member-1");
  EXPECT_EQ(Send({.method = "POST", .target = "/api/v1/logout", .as = "new"}).status, 204);
  EXPECT_EQ(Send({.target = "/api/v1/whoami", .as = "new"}).status, 401);
  const http::Response wrong = log_in("wrong");
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.body.find("wrong\""), std::string::npos) << "what was typed is not said back";
}

TEST_F(SignInTest, TheSocketsOperatorNeedsNoTokenAndNobodyElseIsTakenForHim) {
  http::Request request;
  request.target = "/api/v1/whoami";
  request.peer.listener = "api";
  request.peer.unix_uid = 0;
  EXPECT_EQ(Json(SendRaw(request))["user"].AsString(), "admin");
  request.peer.unix_uid = 1234;
  EXPECT_EQ(SendRaw(request).status, 401) << "another user of the machine";
  request.peer.unix_uid = 0;
  request.peer.listener = "platform";
  EXPECT_EQ(SendRaw(request).status, 401) << "through the gateway the uid is HAProxy's";
}

TEST_F(SignInTest, AnUnsafeRequestWithACookieNeedsTheOwnOrigin) {
  const std::string session = LogIn("member-1");
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/api/v1/whoami", session)).status, 200);
  const auto create = [&](const std::string& origin, const std::string& site) {
    http::Request request = OnPlatform("POST", "/api/v1/tokens", session);
    request.headers.Remove("Origin");
    if (!origin.empty()) request.headers.Set("Origin", origin);
    if (!site.empty()) request.headers.Set("Sec-Fetch-Site", site);
    request.headers.Set("Content-Type", "application/json");
    request.body = "{}";
    return SendRaw(std::move(request)).status;
  };
  EXPECT_EQ(create("http://localhost:8080", ""), 201);
  EXPECT_EQ(create("null", "same-origin"), 201);
  EXPECT_EQ(create("", "same-origin"), 201);
  EXPECT_EQ(create("", ""), 403);
  EXPECT_EQ(create("null", ""), 403);
  EXPECT_EQ(create("http://nb--demo.localhost:8080", "same-site"), 403);
  EXPECT_EQ(create("http://localhost:9090", ""), 403);
  EXPECT_EQ(create("http://localhost", ""), 403);
}

TEST_F(SignInTest, ACookieCountsOnceOnThePlatformOnly) {
  const std::string session = LogIn("member-1");
  http::Request request = OnPlatform("GET", "/api/v1/whoami");
  const std::string pair = entry_.cookie_name() + "=" + session;
  request.headers.Set("Cookie", pair + "; " + pair);
  EXPECT_EQ(SendRaw(request).status, 401) << "twice";
  request.headers.Set("Cookie", "x" + pair);
  EXPECT_EQ(SendRaw(request).status, 401) << "another name";
  request.headers.Set("Cookie", pair);
  EXPECT_EQ(SendRaw(request).status, 200);
  request.peer.listener = "api";
  EXPECT_EQ(SendRaw(request).status, 401);
}

TEST_F(SignInTest, NobodySignsABrowserInFromAnotherPage) {
  http::Request request = OnPlatform("POST", "/login");
  SetForm(request, "user=member-1&password=" + http::PercentEncode(std::string(kPassword)));
  request.headers.Set("Origin", "http://evil.example");
  const http::Response response = SendRaw(std::move(request));
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(Given(response, entry_.cookie_name()), "");
}

TEST_F(SignInTest, TheHonestWayFromTheWorkloadToThePlatformAndBack) {
  StartNotebook();
  const http::Response first = SendRaw(OnPlatform("GET", Authorize("/lab/tree/a.ipynb?x=1")));
  EXPECT_EQ(first.status, 303);
  EXPECT_TRUE(first.headers.Get("Location").starts_with("/login?next=%2Fauthorize"));
  const std::string session = LogIn("member-1");
  const std::string callback = CallbackFor(session, "/lab/tree/a.ipynb?x=1");
  const http::Response done = SendRaw(OnOrigin("GET", callback, StateCookie()));
  EXPECT_EQ(done.status, 303) << done.body;
  EXPECT_EQ(done.headers.Get("Location"), "/lab/tree/a.ipynb?x=1");
  const std::string value = Given(done, entry_.cookie_name());
  ASSERT_EQ(value.size(), 64u);
  const auto& put = entry_.sessions.at(Sha256Hex(value));
  EXPECT_EQ(put.user, "member-1");
  EXPECT_EQ(put.host, kHost);
  EXPECT_EQ(put.expires, clock_.Now() + std::chrono::hours(8));
  for (const auto& [field, cookie] : done.headers) {
    if (field != "Set-Cookie") continue;
    EXPECT_NE(cookie.find("; Path=/; "), std::string::npos);
    EXPECT_NE(cookie.find("; Secure; HttpOnly; SameSite=Lax"), std::string::npos);
    EXPECT_EQ(cookie.find("Domain"), std::string::npos);
  }
  EXPECT_EQ(SendRaw(OnOrigin("GET", callback, StateCookie())).status, 410) << "the code is used";
}

TEST_F(SignInTest, ACodeIsNoUseWithoutItsStateHostAndPort) {
  StartNotebook();
  const std::string session = LogIn("member-1");
  EXPECT_EQ(SendRaw(OnOrigin("GET", CallbackFor(session))).status, 410) << "no state cookie";
  EXPECT_EQ(SendRaw(OnOrigin("GET", CallbackFor(session), StateCookie(std::string(64, 'b')))).status, 410);
  EXPECT_EQ(SendRaw(OnOrigin("GET", CallbackFor(session), StateCookie(), "other--demo.localhost")).status,
            410);
  http::Request port = OnOrigin("GET", CallbackFor(session), StateCookie());
  port.headers.Set("Host", std::string(kHost) + ":9090");
  EXPECT_EQ(SendRaw(std::move(port)).status, 410);
  const std::string late = CallbackFor(session);
  clock_.Advance(std::chrono::seconds(30));
  EXPECT_EQ(SendRaw(OnOrigin("GET", late, StateCookie())).status, 410);
  EXPECT_TRUE(entry_.sessions.empty());
}

TEST_F(SignInTest, OnlyTheOwnerGetsACodeAndStrangersAreNotToldOfTheNotebook) {
  StartNotebook();
  EXPECT_EQ(SendRaw(OnPlatform("GET", Authorize(), LogIn("member-1"))).status, 303);
  for (const char* user : {"member-2", "lead-1", "admin"})
    EXPECT_EQ(SendRaw(OnPlatform("GET", Authorize(), LogIn(user))).status, 403) << user;
  EXPECT_EQ(SendRaw(OnPlatform("GET", Authorize(), LogIn("stranger-1"))).status, 404);
  const std::string session = LogIn("member-1");
  for (const char* host : {"none--demo.localhost", "localhost", "evil.example",
                           "nb--demo.localhost.evil.example", "nb--demo--x.localhost", ""}) {
    const std::string target = "/authorize?host=" + std::string(host) + "&state=" + kState;
    EXPECT_EQ(SendRaw(OnPlatform("GET", target, session)).status, 404) << host;
  }
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/authorize?host=nb--demo.localhost&state=../x", session)).status, 400);
}

TEST_F(SignInTest, TheTargetAfterSigningInStaysOnTheOrigin) {
  for (const char* bad : {"//evil.example", "///evil.example", "/\\evil.example", "https://evil.example",
                          "/\t/evil.example", "", "lab", "/a//b", "/../x", "/.cubeplane/open?t=x",
                          "/x\r\nSet-Cookie: a=b", "/\xc3\xa4", "javascript:alert(1)", "/ x"}) {
    EXPECT_EQ(SafeNext(bad), "/") << bad;
  }
  for (const char* good :
       {"/", "/lab", "/lab/tree/a%20b.ipynb?reset&x=//y#z", "/authorize?host=a&next=%2Flab"})
    EXPECT_EQ(SafeNext(good), good);
  SeededRandom random(5);
  constexpr std::string_view kAlphabet = "/\\.%2fFcC5e?#@:\t\n evil";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = random.Below(12); n > 0; --n) text += kAlphabet[random.Below(kAlphabet.size())];
    const std::string next = SafeNext(text);
    ASSERT_TRUE(next == "/" || (next.size() > 1 && next[0] == '/' && next[1] != '/' && next[1] != '\\'))
        << text;
    ASSERT_EQ(next.find_first_of("\t\n \\"), std::string::npos) << text;
  }
}

TEST_F(SignInTest, ALinkShowsAButtonAndOpensThatNotebookOnce) {
  StartNotebook();
  const std::string link = LinkOf("member-1");
  for (int i = 0; i < 2; ++i) {
    const http::Response page = SendRaw(OnOrigin("GET", "/.cubeplane/open?t=" + link));
    EXPECT_EQ(page.status, 200) << "a preview burns nothing";
    EXPECT_NE(page.body.find("<form method=post"), std::string::npos);
    EXPECT_EQ(page.headers.Count("Set-Cookie"), 0u);
  }
  const auto redeem = [&](const std::string& secret, const std::string& host,
                          const std::string& origin = "") {
    http::Request request = OnOrigin("POST", "/.cubeplane/open", "", host);
    if (!origin.empty()) request.headers.Set("Origin", origin);
    SetForm(request, "t=" + secret);
    return SendRaw(std::move(request));
  };
  EXPECT_EQ(redeem(link, kHost, "http://evil.example").status, 403) << "and the link stays good";
  const http::Response done = redeem(link, kHost);
  EXPECT_EQ(done.status, 303) << done.body;
  EXPECT_EQ(done.headers.Get("Location"), "/lab");
  EXPECT_EQ(entry_.sessions.at(Sha256Hex(Given(done, entry_.cookie_name()))).host, kHost);
  EXPECT_EQ(redeem(link, kHost).status, 410);
  EXPECT_EQ(redeem(LinkOf("member-1"), "other--demo.localhost").status, 410);
  const std::string late = LinkOf("member-1");
  clock_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(redeem(late, kHost).status, 410);
  EXPECT_EQ(
      CodeOf(Send({.method = "POST", .target = "/api/v1/projects/demo/notebooks/nb/open", .as = "admin"})),
      "owner_only");
}

TEST_F(SignInTest, TheMarkOfTheGatewayCountsFromTheGatewayOnly) {
  StartNotebook();
  http::Request forged = OnOrigin("GET", "/.cubeplane/open?t=x");
  forged.peer.listener = "api";
  EXPECT_EQ(SendRaw(std::move(forged)).status, 404);
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/.cubeplane/open?t=x")).status, 404);
  EXPECT_EQ(SendRaw(OnOrigin("GET", "/api/v1/whoami")).status, 404)
      << "the API is not on a workload's origin";
}

TEST_F(SignInTest, SigningOutEndsAllSessionsEverywhere) {
  StartNotebook();
  const std::string session = LogIn("member-1"), second = LogIn("member-1");
  const http::Response signed_in = SendRaw(OnOrigin("GET", CallbackFor(session), StateCookie()));
  const std::string origin = Given(signed_in, entry_.cookie_name());
  ASSERT_EQ(entry_.sessions.size(), 1u);
  const http::Response out = SendRaw([&] {
    http::Request request = OnPlatform("POST", "/logout", session);
    SetForm(request, "");
    return request;
  }());
  EXPECT_EQ(out.status, 303) << out.body;
  EXPECT_TRUE(entry_.sessions.empty()) << "the gateway was told";
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/api/v1/whoami", session)).status, 401);
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/api/v1/whoami", second)).status, 401);
}

TEST_F(SignInTest, SigningOutOnAnOriginEndsAllToo) {
  StartNotebook();
  const std::string session = LogIn("member-1");
  const http::Response signed_in = SendRaw(OnOrigin("GET", CallbackFor(session), StateCookie()));
  http::Request request = OnOrigin("POST", "/.cubeplane/signout",
                                   entry_.cookie_name() + "=" + Given(signed_in, entry_.cookie_name()));
  SetForm(request, "");
  EXPECT_EQ(SendRaw(std::move(request)).status, 303);
  EXPECT_TRUE(entry_.sessions.empty());
  EXPECT_EQ(SendRaw(OnPlatform("GET", "/api/v1/whoami", session)).status, 401);
}

TEST_F(SignInTest, PagesSpeakTheBrowsersLanguageAndEscapeWhatTheyShow) {
  http::Request request = OnPlatform("GET", "/login?next=%2F%22%3E%3Cscript%3E");
  const http::Response en = SendRaw(request);
  EXPECT_NE(en.body.find("Sign in"), std::string::npos);
  EXPECT_EQ(en.body.find("<script>"), std::string::npos);
  EXPECT_NE(en.headers.Get("Content-Security-Policy").find("default-src 'none'"), std::string_view::npos);
  request.headers.Set("Accept-Language", "zh-CN");
  EXPECT_NE(SendRaw(request).body.find("登录"), std::string::npos);
}

TEST_F(SignInTest, ManyRequestsAtOnceMeetTheRateOfThatPrincipalOnly) {
  int refused = 0;
  for (int i = 0; i < settings_.rate.burst + 10; ++i)
    refused += Send({.target = "/api/v1/whoami", .as = "member-1"}).status == 429 ? 1 : 0;
  EXPECT_EQ(refused, 10);
  EXPECT_EQ(Send({.target = "/api/v1/whoami", .as = "member-2"}).status, 200);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Send({.target = "/api/v1/whoami", .as = "member-1"}).status, 200);
}

TEST_F(SignInTest, UsersAreMadeChangedAndDisabled) {
  const http::Response made =
      Send({.method = "POST", .target = "/api/v1/users", .as = "admin", .body = R"({"name":"new-1"})"});
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string password = Json(made)["password"].AsString();
  EXPECT_GE(password.size(), 20u);
  EXPECT_EQ(Send({.target = "/api/v1/users/new-1", .as = "admin"}).body.find("password"), std::string::npos);
  const std::string body = R"({"user":"new-1","password":")" + password + R"("})";
  const http::Response token = Send({.method = "POST", .target = "/api/v1/login", .body = body});
  ASSERT_EQ(token.status, 200);
  tokens_["new-1"] = Json(token)["token"].AsString();
  EXPECT_EQ(Send({.method = "POST",
                  .target = "/api/v1/users/new-1/password",
                  .as = "new-1",
                  .body = R"({"password":"another long one"})"})
                .status,
            422)
      << "the present one is missing";
  EXPECT_EQ(
      Send({.method = "PUT", .target = "/api/v1/users/new-1", .as = "admin", .body = R"({"disabled":true})"})
          .status,
      200);
  EXPECT_EQ(Send({.target = "/api/v1/whoami", .as = "new-1"}).status, 401);
  EXPECT_EQ(Send({.method = "POST", .target = "/api/v1/login", .body = body}).status, 401);
  EXPECT_EQ(
      Send({.method = "PUT", .target = "/api/v1/users/new-1", .as = "admin", .body = R"({"disabld":true})"})
          .status,
      422);
}

TEST_F(SignInTest, HealthNamesThePartThatIsNotThere) {
  EXPECT_EQ(Send({.target = "/readyz"}).status, 200);
  entry_.healthy = false;
  const http::Response response = Send({.target = "/readyz"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(CodeOf(response), "gateway_down");
  EXPECT_EQ(Send({.target = "/livez"}).status, 200);
  EXPECT_EQ(Send({.target = "/metrics"}).status, 401);
  EXPECT_NE(Send({.target = "/metrics", .as = "admin"}).body.find("cubeplane_api_requests_total"),
            std::string::npos);
}

}  // namespace
}  // namespace cubeplane::apiserver
