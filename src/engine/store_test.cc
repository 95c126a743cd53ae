#include "engine/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "json/json.h"

namespace cubeplane::engine {
namespace {

namespace fs = std::filesystem;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  Result<std::shared_ptr<Store>> Open(const std::string& name) const { return Store::Open(In(name), {}); }

  std::string folder_;
};

// While it lives no file can grow, as on a full disk.
class NoRoom {
 public:
  NoRoom() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoom() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

const ObjectKey kKey{"configmaps", "a", "one"};

json::Value Config() {
  return json::Object{{"kind", "ConfigMap"}, {"metadata", json::Object{{"name", "one"}, {"uid", "u1"}}}};
}

TEST_F(StoreTest, OpensOnAFullDiskAfterAKillAndWritesAgainWhenThereIsRoom) {
  auto before = Open("engine.db");
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_TRUE((*before)->Create(kKey, Config()));
  // What a kill leaves behind: a log that no checkpoint has taken in.
  fs::copy_file(In("engine.db"), In("killed.db"));
  fs::copy_file(In("engine.db-wal"), In("killed.db-wal"));
  Result<std::shared_ptr<Store>> after = [&] {
    const NoRoom full;
    auto opened = Open("killed.db");
    if (opened) EXPECT_FALSE((*opened)->Delete(kKey));
    return opened;
  }();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_NE((*after)->Get(kKey), nullptr);
  EXPECT_TRUE((*after)->Delete(kKey));
}

TEST_F(StoreTest, AFullDiskIsNotCalledDamage) {
  const NoRoom full;
  const auto opened = Open("new.db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kStoreFull) << opened.error().message;
}

TEST_F(StoreTest, AForeignFileIsSaidToBeOne) {
  std::ofstream(In("other.db")) << std::string(8192, 'x');
  const auto opened = Open("other.db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kInvalid) << opened.error().message;
}

}  // namespace
}  // namespace cubeplane::engine
