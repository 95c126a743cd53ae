#include "cli/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/files.h"
#include "cli/texts.h"
#include "json/json.h"

namespace cubeplane::cli {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsThisMachine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host.ends_with(".localhost");
}

Outcome<Target> TargetOfData(const std::string& data, const Terminal& terminal) {
  const std::string path = data + "/endpoint.json";
  const Result<std::string> text = ReadFile(path, 64 << 10);
  if (!text) {
    return Fail(kNoCubeplane, Say(terminal, Text::kNoEndpoint, {{"path", path}}),
                Say(terminal, Text::kStartIt));
  }
  const Result<json::Value> endpoint = json::Parse(*text);
  if (!endpoint || (*endpoint)["api_socket"].AsString().empty()) {
    return Fail(kNoCubeplane, Say(terminal, Text::kBadEndpoint, {{"path", path}}));
  }
  Target target;
  target.endpoint.unix_path = (*endpoint)["api_socket"].AsString();
  target.host = "localhost";
  target.shown = data;
  return target;
}

}  // namespace

Outcome<Target> TargetOfUrl(const std::string& url, const Terminal& terminal) {
  const auto bad = [&] { return Fail(kUsage, Say(terminal, Text::kBadUrl, {{"url", url}})); };
  std::string_view rest = url;
  Target target;
  if (rest.starts_with("https://")) {
    target.endpoint.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad();
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/?#@ ") != std::string_view::npos) return bad();
  target.host = rest;
  int port = target.endpoint.tls ? 443 : 80;
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
      return bad();
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (!target.endpoint.tls && !IsThisMachine(rest)) {
    return Fail(kUsage, Say(terminal, Text::kPlainHttp, {{"host", std::string(rest)}}));
  }
  // glibc does not resolve names below localhost, and the loopback addresses are what they mean.
  target.endpoint.host =
      IsThisMachine(rest) && !target.endpoint.tls && rest != "::1" ? "127.0.0.1" : std::string(rest);
  target.endpoint.port = static_cast<uint16_t>(port);
  target.shown = url;
  return target;
}

Outcome<Target> FindTarget(const Options& options, const Terminal& terminal) {
  const Saved saved = ReadSaved();
  const auto with_token = [&](const std::string& server) -> Outcome<Target> {
    CLI_ASSIGN(Target target, TargetOfUrl(server, terminal));
    target.token = Env("CUBEPLANE_TOKEN");
    if (target.token.empty() && server == saved.server) target.token = saved.token;
    return target;
  };
  if (!options.server.empty()) return with_token(options.server);
  if (!options.data.empty()) return TargetOfData(options.data, terminal);
  if (const std::string server = Env("CUBEPLANE_SERVER"); !server.empty()) return with_token(server);
  if (const std::string data = Env("CUBEPLANE_DATA"); !data.empty()) return TargetOfData(data, terminal);
  if (!saved.server.empty()) return with_token(saved.server);
  // Where `up` keeps its data when nothing else is said.
  for (const std::string& data :
       {Env("HOME") + "/.local/share/cubeplane/default", std::string("/var/lib/cubeplane/default")}) {
    if (access((data + "/endpoint.json").c_str(), R_OK) == 0) return TargetOfData(data, terminal);
  }
  return Fail(kNoCubeplane, Say(terminal, Text::kNoTarget), Say(terminal, Text::kNoTargetNext));
}

std::string SavedPath() {
  const std::string base = Env("XDG_CONFIG_HOME");
  return (base.empty() ? Env("HOME") + "/.config" : base) + "/cubeplane/config";
}

Saved ReadSaved() {
  const Result<std::string> text = ReadFile(SavedPath(), 64 << 10);
  if (!text) return {};
  const Result<json::Value> value = json::Parse(*text);
  if (!value) return {};
  return {(*value)["server"].AsString(), (*value)["token"].AsString(), (*value)["project"].AsString()};
}

Outcome<> WriteSaved(const Saved& saved, const Terminal& terminal) {
  const std::string path = SavedPath();
  const json::Value value =
      json::Object{{"server", saved.server}, {"token", saved.token}, {"project", saved.project}};
  if (const Result<> written = WriteSecretFile(path, json::WritePretty(value) + "\n"); !written) {
    return Fail(kFailed,
                Say(terminal, Text::kCannotWrite, {{"path", path}, {"why", written.error().message}}));
  }
  return {};
}

}  // namespace cubeplane::cli
