// The test program is also the program that nodes, supervisors and pods run, as the product's one binary is.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/node/main.h"

int main(int argc, char** argv) {
  namespace node = cubeplane::engine::node;
  if (argc > 1 && strcmp(argv[1], "node") == 0) return node::NodeMain(argc, argv);
  if (argc > 1 && strcmp(argv[1], "supervisor") == 0) return node::SupervisorMain(argc, argv);
  if (argc > 1 && strcmp(argv[1], "pod-init") == 0) return node::PodInitMain(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
