#include "cmd/places.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cubeplane::cmd {
namespace {

struct Fixture : ::testing::Test {
  std::string folder;
  SystemClock clock;
  SystemRandom random;
  void SetUp() override {
    char name[] = "/tmp/cubeplane-places-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    if (!run.empty()) std::filesystem::remove_all(run);
  }
  std::string run;
  // "nobody" is on every Debian.
  Result<Places> Make(const std::string& data) {
    Result<Places> places = Prepare(data, "nobody", clock, random);
    if (places) run = places->run;
    return places;
  }
};

TEST_F(Fixture, MakesAnInstanceOnceAndFindsItAgain) {
  const Result<Places> first = Make(folder + "/data");
  ASSERT_TRUE(first) << first.error().message;
  const Result<Places> again = Make(folder + "/data");
  ASSERT_TRUE(again);
  EXPECT_EQ(first->instance, again->instance);
  EXPECT_EQ(Open(folder + "/data")->run, first->run);
  struct stat keys{};
  ASSERT_EQ(stat((folder + "/data/keys").c_str(), &keys), 0);
  EXPECT_EQ(keys.st_mode & 0777, 0700u);
}

TEST_F(Fixture, RefusesAFolderThatHoldsOtherThings) {
  std::filesystem::create_directory(folder + "/data");
  ASSERT_TRUE(WriteFile(folder + "/data/thesis.tex", "x", 0644));
  const Result<Places> places = Make(folder + "/data");
  ASSERT_FALSE(places);
  EXPECT_EQ(places.error().code, Code::kForbidden);
  EXPECT_NE(places.error().message.find("holds other things"), std::string::npos);
}

TEST_F(Fixture, TheLockNamesItsHolder) {
  const Result<Places> places = Make(folder + "/data");
  ASSERT_TRUE(places);
  EXPECT_FALSE(DataLock::Holder(*places));
  Result<DataLock> lock = DataLock::Take(*places);
  ASSERT_TRUE(lock);
  EXPECT_EQ(DataLock::Holder(*places), getpid());
  const Result<DataLock> second = DataLock::Take(*places);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos);
}

TEST_F(Fixture, KeysStayTheSame) {
  const Result<Places> places = Make(folder + "/data");
  ASSERT_TRUE(places);
  const Result<std::string> key = KeyFile(*places, "door", random);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->size(), 64u);
  EXPECT_EQ(*KeyFile(*places, "door", random), *key);
}

TEST(FreePort, PassesOverATakenOne) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const uint16_t port = ntohs(address.sin_port);
  const Result<uint16_t> other = FreePort(port);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, port);
  close(fd);
}

}  // namespace
}  // namespace cubeplane::cmd
