#include "cmd/options.h"

#include <gtest/gtest.h>

namespace cubeplane::cmd {
namespace {

Result<UpOptions> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), {"cubeplane", "up"});
  return ParseOptions(static_cast<int>(words.size()), const_cast<char**>(words.data()), 2);
}

TEST(UpOptions, ReadsBothForms) {
  const auto options = Parse({"--port", "8123", "--data=/x", "--env", "default=/e", "--trust-tenants"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->port, 8123);
  EXPECT_EQ(options->data, "/x");
  EXPECT_EQ(options->environments, std::vector<std::string>{"default=/e"});
  EXPECT_TRUE(options->trust_tenants);
}

TEST(UpOptions, SaysWhatIsAllowed) {
  for (const char* port : {"0", "65536", "80a", "", "-1"}) {
    const auto options = Parse({"--port", port});
    ASSERT_FALSE(options) << port;
    EXPECT_NE(options.error().message.find("from 1 to 65535"), std::string::npos);
  }
  EXPECT_FALSE(Parse({"--env", "default"}));
  EXPECT_FALSE(Parse({"--prot", "1"}));
  EXPECT_FALSE(Parse({"--port"}));
}

}  // namespace
}  // namespace cubeplane::cmd
