#include "gateway/pages.h"

#include <algorithm>

#include "json/json.h"

namespace cubeplane::gateway {
namespace {

constexpr Refusal kRefusals[] = {
    {"bad-host", 400, "BadRequest", "The request needs exactly one Host header: a name, and a port at most.",
     "请求必须只有一个 Host 头，内容为主机名和可选的端口。", "", ""},
    {"bad-target", 400, "BadRequest", "The request's target must be a path that begins with /.",
     "请求目标必须是以 / 开头的路径。", "", ""},
    {"bad-path", 400, "BadRequest", "The path holds .., a doubled slash, or an encoded dot, slash or backslash.",
     "路径中含有 ..、连续的斜杠，或被编码的点、斜杠、反斜杠。", "", ""},
    {"bad-cookie", 400, "BadRequest", "The request holds two Cookie headers, or this platform's session cookie more than once.",
     "请求带有两个 Cookie 头，或多次携带本平台的会话 Cookie。", "Clear this site's cookies and open it again.",
     "请清除本站点的 Cookie 后重新打开。"},
    {"bad-method", 405, "MethodNotAllowed", "Only GET, HEAD, OPTIONS, POST, PUT, PATCH and DELETE are served.",
     "只支持 GET、HEAD、OPTIONS、POST、PUT、PATCH 和 DELETE。", "", ""},
    {"unknown-host", 404, "NotFound", "No workload has this address.", "没有任务使用这个地址。",
     "It may be stopped, starting or deleted: look at the platform's page, at localhost.",
     "任务可能已停止、正在启动或已删除：请到平台页面（localhost）查看。"},
    {"unknown-path", 404, "NotFound", "There is no such page of the sign-in.", "登录流程中没有这个页面。", "", ""},
    {"cross-origin-websocket", 403, "Forbidden", "A WebSocket may be opened by this site's own pages only.",
     "WebSocket 只能由本站点自己的页面打开。", "", ""},
    {"cross-origin-write", 403, "Forbidden", "Another site may not send data to this one.",
     "其他站点不能向本站点提交数据。", "", ""},
    {"write-without-origin", 403, "Forbidden", "A request that changes something must say its Origin.",
     "有修改作用的请求必须带有 Origin。", "", ""},
    {"cross-origin-embed", 403, "Forbidden", "Another site may not embed or fetch this one.",
     "其他站点不能嵌入或抓取本站点。", "", ""},
    {"cross-origin-read", 403, "Forbidden", "Another site may not read this one.", "其他站点不能读取本站点。", "", ""},
    {"no-session", 401, "Unauthorized", "Nobody is signed in here.", "尚未登录。", "Open the address in a browser to sign in.",
     "请在浏览器中打开该地址登录。"},
    {"other-host", 401, "Unauthorized", "The session belongs to another address.", "该会话属于另一个地址。",
     "Open the address in a browser to sign in.", "请在浏览器中打开该地址登录。"},
    {"expired", 401, "Unauthorized", "The session has ended.", "会话已过期。", "Open the address in a browser to sign in again.",
     "请在浏览器中重新打开该地址登录。"},
    {"not-owner", 403, "Forbidden", "Only its owner may open this workload.", "只有所有者可以打开该任务。",
     "Sign out and sign in as the owner, or start a notebook of your own.", "请以所有者身份登录，或启动自己的 Notebook。"},
    {"no-secret", 503, "ServiceUnavailable", "The way to this workload is being changed.", "该任务的路由正在更新。",
     "Try again in a few seconds.", "请几秒后重试。"},
    {"workload-unreachable", 503, "ServiceUnavailable", "The workload does not answer: it is starting, restarting or has ended.",
     "任务没有应答：它可能正在启动、重启或已结束。", "Try again in a few seconds, or look at the platform's page.",
     "请几秒后重试，或到平台页面查看。"},
    {"workload-timeout", 504, "Timeout", "The workload took too long to answer.", "任务应答超时。", "Try again.", "请重试。"},
    {"platform-unreachable", 503, "ServiceUnavailable",
     "The control plane is not running. Workloads go on, and their pages serve whoever is signed in there.",
     "控制平面未运行。任务继续运行，已登录的页面仍可使用。", "Start it with: cubeplane up", "请用 cubeplane up 启动。"},
    {"platform-timeout", 504, "Timeout", "The control plane took too long to answer.", "控制平面应答超时。", "Try again.",
     "请重试。"},
};

// "not-owner" -> "gateway_not_owner", as reason codes are written.
std::string CodeOf(const Refusal& refusal) {
  std::string code = "gateway_" + std::string(refusal.name);
  std::ranges::replace(code, '-', '_');
  return code;
}

std::string JsonBody(const Refusal& refusal, bool zh) {
  json::Object details{{"code", CodeOf(refusal)}};
  const std::string_view next = zh ? refusal.next_zh : refusal.next_en;
  if (!next.empty()) details.Set("next", next);
  return json::Write(json::Object{{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", json::Object{}},
                                  {"status", "Failure"},
                                  {"message", zh ? refusal.zh : refusal.en},
                                  {"reason", refusal.reason},
                                  {"details", std::move(details)},
                                  {"code", refusal.status}});
}

// The sentences are ours and hold no `<` or `&`.
std::string HtmlBody(const Refusal& refusal, bool zh) {
  std::string page = "<!doctype html><html lang=\"";
  page += zh ? "zh-CN" : "en";
  page += "\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>cubeplane</title>";
  page += "<body style=\"font:16px/1.6 system-ui,sans-serif;max-width:40em;margin:15vh auto;padding:0 1em\"><h1>";
  page += std::to_string(refusal.status);
  page += "</h1><p>";
  page += zh ? refusal.zh : refusal.en;
  page += "</p><p>";
  page += zh ? refusal.next_zh : refusal.next_en;
  page += "</p><p style=\"color:#767676\">";
  page += CodeOf(refusal);
  page += "</p></body></html>";
  return page;
}

}  // namespace

std::span<const Refusal> Refusals() { return kRefusals; }

std::string PagesMap() {
  std::string map;
  for (const Refusal& refusal : kRefusals) {
    const std::string name(refusal.name);
    map += name + ".json-en " + JsonBody(refusal, false) + "\n";
    map += name + ".json-zh " + JsonBody(refusal, true) + "\n";
    map += name + ".html-en " + HtmlBody(refusal, false) + "\n";
    map += name + ".html-zh " + HtmlBody(refusal, true) + "\n";
  }
  return map;
}

}  // namespace cubeplane::gateway
