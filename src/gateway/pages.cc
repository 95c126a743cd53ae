#include "gateway/pages.h"

#include <algorithm>

#include "json/json.h"
#include "model/reasons.h"

namespace cubeplane::gateway {
namespace {

constexpr Refusal kRefusals[] = {
    {"bad-host", 400, "BadRequest"},
    {"bad-target", 400, "BadRequest"},
    {"bad-path", 400, "BadRequest"},
    {"bad-cookie", 400, "BadRequest"},
    {"bad-method", 405, "MethodNotAllowed"},
    {"unknown-host", 404, "NotFound"},
    {"unknown-path", 404, "NotFound"},
    {"cross-origin-websocket", 403, "Forbidden"},
    {"cross-origin-write", 403, "Forbidden"},
    {"write-without-origin", 403, "Forbidden"},
    {"cross-origin-embed", 403, "Forbidden"},
    {"cross-origin-read", 403, "Forbidden"},
    {"no-session", 401, "Unauthorized"},
    {"other-host", 401, "Unauthorized"},
    {"expired", 401, "Unauthorized"},
    {"not-owner", 403, "Forbidden"},
    {"no-secret", 503, "ServiceUnavailable"},
    {"workload-unreachable", 503, "ServiceUnavailable"},
    {"workload-broken", 502, "InternalError"},
    {"workload-timeout", 504, "Timeout"},
    {"platform-unreachable", 503, "ServiceUnavailable"},
    {"platform-broken", 502, "InternalError"},
    {"platform-timeout", 504, "Timeout"},
};

// "not-owner" -> "gateway_not_owner": the row of api/reasons.yaml that holds its sentences.
std::string CodeOf(const Refusal& refusal) {
  std::string code = "gateway_" + std::string(refusal.name);
  std::ranges::replace(code, '-', '_');
  return code;
}

std::string JsonBody(const Refusal& refusal, model::Language language) {
  const std::string code = CodeOf(refusal);
  json::Object details{{"code", code}};
  std::string next = model::RenderNext(code, {}, language);
  if (!next.empty()) details.Set("next", std::move(next));
  return json::Write(json::Object{{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", json::Object{}},
                                  {"status", "Failure"},
                                  {"message", model::Render(code, {}, language)},
                                  {"reason", refusal.reason},
                                  {"details", std::move(details)},
                                  {"code", refusal.status}});
}

std::string Escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '<') {
      html += "&lt;";
    } else if (c == '&') {
      html += "&amp;";
    } else {
      html += c;
    }
  }
  return html;
}

std::string HtmlBody(const Refusal& refusal, model::Language language) {
  const std::string code = CodeOf(refusal);
  std::string page = "<!doctype html><html lang=\"";
  page += language == model::Language::kZh ? "zh-CN" : "en";
  page +=
      "\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>cubeplane</title>";
  page +=
      "<body style=\"font:16px/1.6 system-ui,sans-serif;max-width:40em;margin:15vh auto;padding:0 1em\"><h1>";
  page +=
      std::to_string(refusal.status) + "</h1><p>" + Escaped(model::Render(code, {}, language)) + "</p><p>";
  page += Escaped(model::RenderNext(code, {}, language)) + "</p><p style=\"color:#767676\">" + code +
          "</p></body></html>";
  return page;
}

}  // namespace

std::span<const Refusal> Refusals() { return kRefusals; }

std::string PagesMap() {
  std::string map;
  for (const Refusal& refusal : kRefusals) {
    const std::string name(refusal.name);
    map += name + ".json-en " + JsonBody(refusal, model::Language::kEn) + "\n";
    map += name + ".json-zh " + JsonBody(refusal, model::Language::kZh) + "\n";
    map += name + ".html-en " + HtmlBody(refusal, model::Language::kEn) + "\n";
    map += name + ".html-zh " + HtmlBody(refusal, model::Language::kZh) + "\n";
  }
  return map;
}

}  // namespace cubeplane::gateway
