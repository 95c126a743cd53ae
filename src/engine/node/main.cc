#include "engine/node/main.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/node/node.h"
#include "engine/node/pod_init.h"
#include "engine/node/supervisor.h"

namespace cubeplane::engine::node {
namespace {

Result<void> TakeOption(NodeOptions& options, const std::string& name, const std::string& value) {
  if (name == "--socket") {
    options.socket = value;
  } else if (name == "--data") {
    options.config.data = value;
  } else if (name == "--run") {
    options.config.run = value;
  } else if (name == "--uids") {
    options.uids = value;
  } else if (name == "--outbound-allow") {
    options.config.outbound_allow.push_back(value);
  } else if (name == "--allow-uid") {
    if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) {
      return Fail(Code::kInvalid, "--allow-uid " + value + ": a user id is allowed");
    }
    options.config.reader = static_cast<uint32_t>(strtoul(value.c_str(), nullptr, 10));
  } else if (name == "--env") {
    const size_t equals = value.find('=');
    if (equals == std::string::npos || value.substr(equals + 1, 1) != "/") {
      return Fail(Code::kInvalid, "--env " + value + ": NAME=/FOLDER is allowed");
    }
    options.config.environments[value.substr(0, equals)] = value.substr(equals + 1);
  } else {
    return Fail(Code::kInvalid, "unknown option " + name);
  }
  return {};
}

Result<NodeOptions> ParseOptions(int argc, char** argv) {
  NodeOptions options;
  options.config.reader = geteuid();
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "--trust-tenants") == 0) {
      options.trust_tenants = true;
      continue;
    }
    if (i + 1 == argc) return Fail(Code::kInvalid, std::string(argv[i]) + " needs a value");
    RETURN_IF_ERROR(TakeOption(options, argv[i], argv[i + 1]));
    ++i;
  }
  for (const auto& [name, path] : {std::pair{"--socket", &options.socket},
                                   {"--data", &options.config.data},
                                   {"--run", &options.config.run},
                                   {"--uids", &options.uids}}) {
    if (!path->starts_with('/')) return Fail(Code::kInvalid, std::string(name) + " needs an absolute path");
  }
  return options;
}

}  // namespace

int NodeMain(int argc, char** argv) {
  auto options = ParseOptions(argc, argv);
  if (!options) {
    fprintf(stderr, "cubeplane node: %s\n", options.error().message.c_str());
    return 2;
  }
  if (auto ran = RunNode(std::move(*options)); !ran) {
    fprintf(stderr, "cubeplane node: %s\n", ran.error().message.c_str());
    return 1;
  }
  return 0;
}

int SupervisorMain(int argc, char** argv) { return RunSupervisor(argc - 2, argv + 2); }

// Without exit handlers: a sanitizer's would want to trace, which the sandbox forbids.
int PodInitMain(int argc, char** argv) { _exit(RunPodInit(argc - 2, argv + 2)); }

}  // namespace cubeplane::engine::node
