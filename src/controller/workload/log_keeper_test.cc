#include "controller/workload/log_keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cubeplane::controller::workload {
namespace {

TEST(KeptLogs, AreRemovedWhenTheirTimeIsOverAndNothingElseIs) {
  char name[] = "/tmp/cubeplane-logs-XXXXXX";
  const std::string folder = mkdtemp(name);
  const auto write = [&](const std::string& file, time_t at) {
    std::ofstream(folder + "/" + file) << "x";
    const timespec times[2] = {{at, 0}, {at, 0}};
    utimensat(AT_FDCWD, (folder + "/" + file).c_str(), times, 0);
  };
  write("old-a1.log", 1'000);
  write("old-a2.log.part", 1'000);
  write("new-a1.log", 3'000);
  write("notes.txt", 1'000);
  EXPECT_EQ(RemoveOldLogs(folder, Time(std::chrono::seconds(2'000))), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder + "/new-a1.log"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/old-a1.log"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cubeplane::controller::workload
