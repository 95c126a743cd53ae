#include "cmd/options.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace cubeplane::cmd {
namespace {

Error Bad(std::string_view option, std::string_view found, std::string_view allowed) {
  Error error(Code::kInvalid,
              std::string(option) + " " + std::string(found) + ": " + std::string(allowed) + " is allowed");
  error.fields.push_back({std::string(option), std::string(found), std::string(allowed)});
  return error;
}

template <class T>
Result<T> Number(std::string_view option, std::string_view text, T min, T max) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return Fail(Bad(option, text, "a number from " + std::to_string(min) + " to " + std::to_string(max)));
  }
  return value;
}

Result<void> Take(UpOptions& options, std::string_view name, std::string_view value) {
  if (name == "--data") {
    if (value.empty()) return Fail(Bad(name, "''", "a folder"));
    options.data = value;
  } else if (name == "--port") {
    ASSIGN_OR_RETURN(options.port, (Number<uint16_t>(name, value, 1, 65535)));
  } else if (name == "--env") {
    const size_t equals = value.find('=');
    if (equals == 0 || equals == std::string_view::npos || value.substr(equals + 1, 1) != "/") {
      return Fail(Bad(name, value, "NAME=/FOLDER"));
    }
    options.environments.emplace_back(value);
  } else if (name == "--service-user") {
    options.service_user = value;
  } else if (name == "--operator-uid") {
    ASSIGN_OR_RETURN(options.operator_uid, (Number<int64_t>(name, value, 0, UINT32_MAX - 1)));
  } else if (name == "--outbound-allow") {
    options.outbound_allow.emplace_back(value);
  } else {
    return Fail(Code::kInvalid, "unknown option " + std::string(name) + ": `cubeplane up --help` lists them");
  }
  return {};
}

}  // namespace

std::string DefaultData() {
  if (const char* data = std::getenv("CUBEPLANE_DATA"); data && *data) return data;
  if (geteuid() == 0) return "/var/lib/cubeplane/default";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "/tmp") + "/.local/share/cubeplane/default";
}

Result<UpOptions> ParseOptions(int argc, char** argv, int first) {
  UpOptions options;
  options.data = DefaultData();
  for (int i = first; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      continue;
    }
    if (name == "--trust-tenants") {
      options.trust_tenants = true;
      continue;
    }
    const size_t equals = name.find('=');
    if (name.starts_with("--") && equals != std::string_view::npos) {
      RETURN_IF_ERROR(Take(options, name.substr(0, equals), name.substr(equals + 1)));
      continue;
    }
    if (i + 1 == argc)
      return Fail(Code::kInvalid, std::string(name) + ": a value must follow, or the option is unknown");
    RETURN_IF_ERROR(Take(options, name, argv[++i]));
  }
  return options;
}

std::string UpHelp() {
  return "cubeplane up: start the control plane of this machine; Ctrl-C stops it, work goes on (`cubeplane "
         "down` ends it)\n"
         "\n"
         "  --data DIR            where everything is kept (now " +
         DefaultData() +
         ")\n"
         "  --port N              the one port people see (default: as last time, else 8080 or the next free "
         "one)\n"
         "  --env NAME=/FOLDER    an environment of this machine; `default` is what env:default means\n"
         "  --service-user NAME   who the control plane runs as when started by root (default cubeplane)\n"
         "  --operator-uid U      besides root, may use the API's socket as admin\n"
         "  --outbound-allow NET  a private network that workloads may reach, e.g. 10.1.0.0/16\n"
         "  --trust-tenants       several projects without root: their processes are not kept apart\n";
}

}  // namespace cubeplane::cmd
