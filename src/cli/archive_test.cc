#include "cli/archive.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cubeplane::cli {
namespace {

namespace fs = std::filesystem;

class PackTest : public ::testing::Test {
 protected:
  PackTest() {
    char folder[] = "/tmp/cubeplane-pack-test-XXXXXX";
    root_ = mkdtemp(folder);
  }
  ~PackTest() override { fs::remove_all(root_); }
  void Put(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << content;
  }
  // What tar itself makes of the archive.
  std::string Listing(const std::string& archive) {
    std::ofstream(root_ + ".tgz", std::ios::binary) << archive;
    FILE* tar = popen(
        ("tar -tzf " + root_ + ".tgz && tar -xzOf " + root_ + ".tgz train.py; rm " + root_ + ".tgz").c_str(),
        "r");
    std::string text;
    for (int c = fgetc(tar); c != EOF; c = fgetc(tar)) text += static_cast<char>(c);
    EXPECT_EQ(pclose(tar), 0);
    return text;
  }
  std::string root_;
};

TEST_F(PackTest, TarReadsItAndTheSameContentGivesTheSameArchive) {
  Put("train.py", "print(1)\n");
  Put("lib/a.py", "");
  Put("__pycache__/x.pyc", "1");
  Put("data.bin", "1");
  Put("keep/data.bin", "1");
  Put(".cubeplaneignore", "*.bin\n!keep/data.bin\n");
  const Result<Packed> packed = PackFolder(root_);
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_EQ(packed->files, 4u);
  EXPECT_EQ(Listing(packed->archive),
            ".cubeplaneignore\nkeep/\nkeep/data.bin\nlib/\nlib/a.py\ntrain.py\nprint(1)\n");
  fs::last_write_time(root_ + "/train.py", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(PackFolder(root_)->archive, packed->archive);
}

TEST_F(PackTest, LongPathsUseThePrefixOfTheHeader) {
  const std::string folder(90, 'd');
  Put("train.py", "x\n");
  Put(folder + "/" + std::string(80, 'f'), "1");
  const Result<Packed> packed = PackFolder(root_);
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_NE(Listing(packed->archive).find(folder + "/" + std::string(80, 'f')), std::string::npos);
  Put(std::string(120, 'g'), "1");
  EXPECT_EQ(PackFolder(root_).error().code, Code::kInvalid);
}

TEST_F(PackTest, RefusesLinksAndWhatIsTooLargeAndSaysWhat) {
  Put("train.py", "x\n");
  fs::create_symlink("/etc/passwd", root_ + "/link");
  const Result<Packed> linked = PackFolder(root_);
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("link is a symbolic link"), std::string::npos);
  fs::remove(root_ + "/link");
  std::string noise;
  for (unsigned seed = 1; noise.size() < (1u << 20); seed = seed * 1664525u + 1013904223u)
    noise += static_cast<char>(seed >> 24);
  Put("noise.dat", noise);
  const Result<Packed> large = PackFolder(root_);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kTooLarge);
  EXPECT_NE(large.error().message.find("noise.dat (1024 KiB)"), std::string::npos);
  EXPECT_EQ(PackFolder(root_ + "/none").error().code, Code::kNotFound);
}

TEST(IgnoreRules, ReadsWhatGitIgnoreFilesSay) {
  const IgnoreRules rules("# comment\n*.log\nbuild/\n/top.txt\ndocs/*.md\n!important.log\n");
  EXPECT_TRUE(rules.Ignores("a/b.log", false));
  EXPECT_FALSE(rules.Ignores("a/important.log", false));
  EXPECT_TRUE(rules.Ignores("x/build", true));
  EXPECT_FALSE(rules.Ignores("x/build", false));
  EXPECT_TRUE(rules.Ignores("top.txt", false));
  EXPECT_FALSE(rules.Ignores("a/top.txt", false));
  EXPECT_TRUE(rules.Ignores("docs/a.md", false));
  EXPECT_FALSE(rules.Ignores("docs/x/a.md", false));
}

}  // namespace
}  // namespace cubeplane::cli
