#include "apiserver/pages.h"

#include <algorithm>

namespace cubeplane::apiserver {
namespace {

enum class Text {
  kSignIn,
  kUser,
  kPassword,
  kNotebooks,
  kNoNotebooks,
  kOpen,
  kSignOut,
  kSignedInAs,
  kOpenTitle,
  kOpenHint,
  kAgainTitle,
  kAgainHint,
  kAgain,
  kErrorTitle,
  kHome
};

struct Row {
  Text text;
  const char* en;
  const char* zh;
};

constexpr Row kTexts[] = {
    {Text::kSignIn, "Sign in", "登录"},
    {Text::kUser, "User", "用户名"},
    {Text::kPassword, "Password", "密码"},
    {Text::kNotebooks, "Your notebooks", "你的 Notebook"},
    {Text::kNoNotebooks, "None yet. Start one with: cubeplane apply -f notebook.yaml",
     "还没有。用 cubeplane apply -f notebook.yaml 启动"},
    {Text::kOpen, "Open", "打开"},
    {Text::kSignOut, "Sign out everywhere", "全部退出登录"},
    {Text::kSignedInAs, "Signed in as", "当前用户"},
    {Text::kOpenTitle, "Open the notebook", "打开 Notebook"},
    {Text::kOpenHint, "This link works once. It signs this browser in for 8 hours.",
     "此链接只能使用一次。浏览器将保持登录 8 小时。"},
    {Text::kAgainTitle, "Start again", "重新开始"},
    {Text::kAgainHint,
     "This sign-in is no longer good: it was used, took too long, or began in another window.",
     "本次登录已失效：已被使用、超时，或从其他窗口发起。"},
    {Text::kAgain, "Start again", "重新开始"},
    {Text::kErrorTitle, "Not possible", "无法完成"},
    {Text::kHome, "Start page", "首页"},
};

std::string Say(Text text, model::Language language) {
  const auto* row = std::ranges::find(kTexts, text, &Row::text);
  return language == model::Language::kZh ? row->zh : row->en;
}

// Colours as in the console's tables; nothing is loaded from anywhere.
constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,'Noto Sans CJK SC',sans-serif;max-width:28rem;margin:12vh auto;padding:0 "
    "1rem;color:#1d2733;"
    "background:#fff}h1{font-size:1.3rem}label{display:block;margin:.8rem 0 "
    ".2rem}input{width:100%;box-sizing:border-box;"
    "padding:.5rem;font:inherit;border:1px solid "
    "#748691;border-radius:4px}button{margin-top:1.2rem;padding:.5rem 1.2rem;"
    "font:inherit;color:#fff;background:#0950b0;border:0;border-radius:4px}a{color:#0950b0}.bad{color:#"
    "a30d2d}"
    "@media(prefers-color-scheme:dark){body{background:#12181f;color:#e6ebf0}a{color:#6cc0ff}.bad{color:#"
    "e5484d}"
    "input{background:#1d2733;color:inherit}}";

http::Response Page(int status, std::string_view title, const std::string& body, model::Language language) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "text/html; charset=utf-8");
  response.headers.Set(
      "Content-Security-Policy",
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'");
  // Forms must send their own origin, which `no-referrer` would turn into "null".
  response.headers.Set("Referrer-Policy", "same-origin");
  response.headers.Set("Vary", "Accept-Language, Cookie");
  response.body = "<!doctype html><html lang=\"" +
                  std::string(language == model::Language::kZh ? "zh-CN" : "en") +
                  "\"><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>" +
                  EscapeHtml(title) + " · cubeplane</title><style>" + std::string(kStyle) +
                  "</style><main><h1>" + EscapeHtml(title) + "</h1>" + body + "</main></html>\n";
  return response;
}

std::string Hidden(std::string_view name, std::string_view value) {
  return "<input type=hidden name=" + std::string(name) + " value=\"" + EscapeHtml(value) + "\">";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

http::Response LoginFormPage(int status, std::string_view next, std::string_view message,
                             model::Language language) {
  std::string body;
  if (!message.empty()) body += "<p class=bad role=alert>" + EscapeHtml(message) + "</p>";
  body += "<form method=post action=/login>" + Hidden("next", next);
  body += "<label for=user>" + Say(Text::kUser, language) +
          "</label><input id=user name=user autocomplete=username autofocus required>";
  body += "<label for=password>" + Say(Text::kPassword, language) +
          "</label><input id=password name=password type=password autocomplete=current-password required>";
  body += "<button>" + Say(Text::kSignIn, language) + "</button></form>";
  return Page(status, Say(Text::kSignIn, language), body, language);
}

http::Response HomePage(std::string_view user, const std::vector<HomeEntry>& notebooks,
                        model::Language language) {
  std::string body;
  if (notebooks.empty()) body += "<p>" + Say(Text::kNoNotebooks, language) + "</p>";
  for (const HomeEntry& notebook : notebooks) {
    body += "<p>" + EscapeHtml(notebook.name) + " · " + EscapeHtml(notebook.phase);
    if (!notebook.address.empty()) {
      body += " · <a href=\"" + EscapeHtml(notebook.address) + "\">" + Say(Text::kOpen, language) + "</a>";
    }
    body += "</p>";
  }
  body += "<form method=post action=/logout><p>" + Say(Text::kSignedInAs, language) + " " + EscapeHtml(user) +
          "</p><button>" + Say(Text::kSignOut, language) + "</button></form>";
  return Page(200, Say(Text::kNotebooks, language), body, language);
}

http::Response OpenButtonPage(std::string_view link, std::string_view host, model::Language language) {
  const std::string body = "<p>" + EscapeHtml(host) + "</p><p>" + Say(Text::kOpenHint, language) +
                           "</p><form method=post action=/.cubeplane/open>" + Hidden("t", link) +
                           "<button autofocus>" + Say(Text::kOpen, language) + "</button></form>";
  return Page(200, Say(Text::kOpenTitle, language), body, language);
}

http::Response StartAgainPage(model::Language language) {
  const std::string body = "<p>" + Say(Text::kAgainHint, language) + "</p><p><a href=\"/\">" +
                           Say(Text::kAgain, language) + "</a></p>";
  return Page(410, Say(Text::kAgainTitle, language), body, language);
}

http::Response ErrorPage(const Error& error, model::Language language) {
  const bool known = !error.reason.empty() && model::HasReason(error.reason);
  std::string body = "<p class=bad role=alert>" +
                     EscapeHtml(known ? model::Render(error.reason, error.params, language) : error.message) +
                     "</p>";
  const std::string next = known ? model::RenderNext(error.reason, error.params, language) : std::string();
  if (!next.empty()) body += "<p>" + EscapeHtml(next) + "</p>";
  body += "<p><a href=\"/\">" + Say(Text::kHome, language) + "</a></p>";
  return Page(HttpStatus(error.code), Say(Text::kErrorTitle, language), body, language);
}

http::Response Redirect(std::string location) {
  http::Response response;
  response.status = 303;
  response.headers.Set("Location", std::move(location));
  response.headers.Set("Referrer-Policy", "no-referrer");
  return response;
}

std::string SafeNext(std::string_view next) {
  constexpr size_t kMaxNext = 2000;
  if (next.size() > kMaxNext || !next.starts_with('/')) return "/";
  const std::string_view path = next.substr(0, next.find_first_of("?#"));
  const bool plain =
      std::ranges::all_of(next, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
  if (!plain || path.find("//") != std::string_view::npos || path.find("/..") != std::string_view::npos)
    return "/";
  if (path.starts_with("/.cubeplane")) return "/";
  return std::string(next);
}

}  // namespace cubeplane::apiserver
