// The options of `up` and `down`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cubeplane::cmd {

struct UpOptions {
  std::string data;                        // --data DIR, else $CUBEPLANE_DATA, else the user's default folder
  uint16_t port = 0;                       // --port N; 0: as last time, else 8080 or the next free one
  std::vector<std::string> environments;   // --env NAME=/FOLDER
  std::string service_user = "cubeplane";  // --service-user NAME; with root only
  int64_t operator_uid = -1;   // --operator-uid U: besides root, may use the API's socket as admin
  bool trust_tenants = false;  // --trust-tenants
  std::vector<std::string> outbound_allow;  // --outbound-allow NETWORK: private networks that pods may reach
  bool help = false;
};

// Errors: kInvalid with the option, what was found and what is allowed.
Result<UpOptions> ParseOptions(int argc, char** argv, int first);
// The text of `cubeplane up --help`.
std::string UpHelp();
// $CUBEPLANE_DATA, /var/lib/cubeplane/default for root, ~/.local/share/cubeplane for others.
std::string DefaultData();

}  // namespace cubeplane::cmd
