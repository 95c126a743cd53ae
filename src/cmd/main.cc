// The one program: the command line, and the parts that it starts of itself.
#include "engine/node/main.h"

#include <csignal>
#include <cstring>

#include "cli/cli.h"
#include "cmd/up.h"

int main(int argc, char** argv) {
  struct Command {
    const char* name;
    int (*run)(int, char**);
  };
  static constexpr Command kCommands[] = {{"up", cubeplane::cmd::UpMain},
                                          {"down", cubeplane::cmd::DownMain},
                                          {"node", cubeplane::engine::node::NodeMain},
                                          {"supervisor", cubeplane::engine::node::SupervisorMain},
                                          {"pod-init", cubeplane::engine::node::PodInitMain}};
  // A reader that goes away is an error of that write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  for (const Command& command : kCommands) {
    if (argc > 1 && std::strcmp(argv[1], command.name) == 0) return command.run(argc, argv);
  }
  return cubeplane::cli::Main(argc, argv);
}
