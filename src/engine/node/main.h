// The subcommands that the runtime adds to the one program. argv[0] is the program, argv[1] the subcommand's
// name.
#pragma once

namespace cubeplane::engine::node {

// cubeplane node --socket S --data DATA --run RUN [--allow-uid U] [--env NAME=FOLDER]… [--uids FOLDER]
//   [--outbound-allow NETWORK]… [--trust-tenants]
int NodeMain(int argc, char** argv);
// Internal: started by the node, by bwrap.
int SupervisorMain(int argc, char** argv);  // cubeplane supervisor …
int PodInitMain(int argc, char** argv);     // cubeplane pod-init …

}  // namespace cubeplane::engine::node
