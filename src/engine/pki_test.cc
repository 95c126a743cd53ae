#include "engine/pki.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "json/json.h"

namespace cubeplane::engine {
namespace {

TEST(Pki, IsMadeOnceAndRenewedInTime) {
  char name[] = "/tmp/cubeplane-pki-XXXXXX";
  const std::string folder = mkdtemp(name);
  ManualClock clock;
  const Result<Pki> first = LoadOrMakePki(folder, clock);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->server_cert_pem.starts_with("-----BEGIN CERTIFICATE"));
  struct stat key{};
  ASSERT_EQ(stat((folder + "/engine.key").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600u);
  EXPECT_EQ(LoadOrMakePki(folder, clock)->server_cert_pem, first->server_cert_pem);
  clock.Advance(std::chrono::hours(24 * 340));
  EXPECT_NE(LoadOrMakePki(folder, clock)->server_cert_pem, first->server_cert_pem);
  std::filesystem::remove_all(folder);
}

TEST(Kubeconfig, IsYamlThatNamesServerAndToken) {
  const auto documents = json::ParseYaml(Kubeconfig("https://127.0.0.1:1", "CA", "secret"));
  ASSERT_TRUE(documents);
  EXPECT_EQ((*documents)[0].At("clusters.0.cluster.server").AsString(), "https://127.0.0.1:1");
  EXPECT_EQ((*documents)[0].At("users.0.user.token").AsString(), "secret");
}

}  // namespace
}  // namespace cubeplane::engine
