#include "gateway/config.h"

#include <algorithm>
#include <set>

#include "gateway/config_text.h"
#include "gateway/lines.h"
#include "gateway/pages.h"

namespace cubeplane::gateway {
namespace {

std::string Replace(std::string text, std::string_view name, std::string_view value) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
    text.replace(at, name.size(), value);
  }
  return text;
}

// FNV-1a: tells builds apart, protects nothing.
std::string Digest(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
  constexpr char kHex[] = "0123456789abcdef";
  std::string digest(16, '0');
  for (char& c : digest) {
    c = kHex[hash >> 60];
    hash <<= 4;
  }
  return digest;
}

// One rule per status and form.
std::string RefusalRules() {
  std::set<int> statuses;
  for (const Refusal& refusal : Refusals()) statuses.insert(refusal.status);
  std::string rules;
  for (const int status : statuses) {
    std::string names;
    for (const Refusal& refusal : Refusals()) {
      if (refusal.status == status) names += " " + std::string(refusal.name);
    }
    const std::string code = std::to_string(status);
    const std::string body =
        " lf-string '%[var(txn.why),concat(.,txn.form),map_str(@PAGES@)]' hdr Cache-Control no-store if { "
        "var(txn.why) -m str" +
        names + " }";
    rules += "    http-request return status " + code + " content-type \"text/html; charset=utf-8\"" + body +
             " page\n";
    rules += "    http-request return status " + code + " content-type application/json" + body + "\n";
  }
  return rules;
}

std::unexpected<Error> Bad(std::string field, std::string_view allowed) {
  Error error(Code::kInvalid, "the gateway's " + field + " must be " + std::string(allowed));
  error.fields.push_back({std::move(field), "", std::string(allowed)});
  return Fail(std::move(error));
}

}  // namespace

Result<void> CheckConfig(const ConfigInput& input) {
  const auto word = [](std::string_view text, size_t max, std::string_view others) {
    return !text.empty() && text.size() <= max && std::ranges::all_of(text, [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.contains(c);
    });
  };
  if (input.port == 0) return Bad("port", "1 to 65535");
  if (!word(input.instance, 32, "")) return Bad("instance", "at most 32 lower-case letters and digits");
  if (!word(input.domain, 200, ".-")) return Bad("domain", "a lower-case DNS name");
  if (!word(input.state_key, 64, "")) return Bad("state key", "64 hexadecimal digits");
  if (input.max_connections < 64)
    return Bad("limit of connections", "64 at least: raise the limit of open files (ulimit -n)");
  RETURN_IF_ERROR(CheckSocketPath(input.admin_socket, "admin socket"));
  RETURN_IF_ERROR(CheckSocketPath(input.platform_socket, "platform socket"));
  return {};
}

std::string CookieName(const std::string& instance) { return "__Host-cubeplane-" + instance; }

std::string StaticConfig(const ConfigInput& input, const std::string& mark) {
  std::string text = kConfigText;
  text = Replace(text, "@REFUSALS@\n", RefusalRules());
  text = Replace(text, "@ADMIN@", input.admin_socket);
  text = Replace(text, "@PLATFORM@", input.platform_socket);
  text = Replace(text, "@PORT@", std::to_string(input.port));
  text = Replace(text, "@MAXCONN@", std::to_string(input.max_connections));
  text = Replace(text, "@DOMAIN@", input.domain);
  text = Replace(text, "@COOKIE@", CookieName(input.instance));
  text = Replace(text, "@STATEKEY@", input.state_key);
  text = Replace(text, "@HOSTS@", kHostsMap);
  text = Replace(text, "@SECRETS@", kSecretsMap);
  text = Replace(text, "@SESSIONS@", kSessionsMap);
  text = Replace(text, "@PAGES@", kPagesMap);
  return Replace(text, "@MARK@", mark);
}

std::string ConfigMark(const ConfigInput& input) {
  ConfigInput same = input;
  same.max_connections = 0;  // another shell's limit of open files is no reason to cut connections
  return "cubeplane-" + input.instance + "-" + Digest(StaticConfig(same, "") + PagesMap());
}

std::string WholeConfig(const std::string& static_config, const std::vector<ServerLine>& servers) {
  std::string text = static_config;
  for (const ServerLine& server : servers) {
    text += "    server " + server.name + " " + server.upstream + " weight 0 pool-max-conn 0\n";
  }
  return text;
}

}  // namespace cubeplane::gateway
