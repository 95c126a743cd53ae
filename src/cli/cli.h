// The command line: `cubeplane status`, `submit`, `logs -f`, …; a client of /api/v1.
#pragma once

namespace cubeplane::cli {

// Runs one command to its end and gives the program's exit code (exit_codes.h). Data goes to stdout, all else
// to stderr.
int Main(int argc, char** argv);

}  // namespace cubeplane::cli
