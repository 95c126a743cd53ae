// Where the API is and who we are for it.
#pragma once

#include <string>

#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "http/client.h"

namespace cubeplane::cli {

struct Target {
  http::Endpoint endpoint;
  std::string host;   // Host header
  std::string token;  // bearer; empty on the API's Unix socket
  std::string shown;  // for messages: the URL or the data folder
};

// In this order: --server, --data, CUBEPLANE_SERVER, CUBEPLANE_DATA, the file that `login` wrote, the
// default data folders of `up`. The token
// is CUBEPLANE_TOKEN, else that of `login` for the same server. Fails with kNoCubeplane when nothing says
// where cubeplane is, or what says so cannot be read.
Outcome<Target> FindTarget(const Options& options, const Terminal& terminal);

// "http://localhost:8080" in parts. Plain http is for this machine only (a token would travel readable):
// kUsage otherwise.
Outcome<Target> TargetOfUrl(const std::string& url, const Terminal& terminal);

// The file of `login`: server, token, project. In $XDG_CONFIG_HOME/cubeplane/config, else
// ~/.config/cubeplane/config.
struct Saved {
  std::string server, token, project;
};
std::string SavedPath();
Saved ReadSaved();
// Written with mode 0600, replaced as a whole.
Outcome<> WriteSaved(const Saved& saved, const Terminal& terminal);

}  // namespace cubeplane::cli
