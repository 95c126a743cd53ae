#include "gateway/lines.h"

#include <gtest/gtest.h>

namespace cubeplane::gateway {
namespace {

state::Route GoodRoute() {
  return {.host = "nb--demo.localhost",
          .workload_uid = "w1",
          .upstream = "unix@/run/cubeplane/i1/doors/p1.sock",
          .instance = "0190f3a2-7c1e-7d00-8000-000000000001",
          .secret = "0123456789abcdef",
          .owner = "ann@example.com"};
}

TEST(AdminLine, JoinsWordsToOneCommand) {
  const auto line = AdminLine({"set", "map", "maps/hosts.map", "nb--demo.localhost", "p1.7|ann"});
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, "set map maps/hosts.map nb--demo.localhost p1.7|ann\n");
}

TEST(AdminLine, RefusesEveryCharacterOutsideTheAllowList) {
  const std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/|+=~-";
  for (int c = 0; c < 256; ++c) {
    const std::string word = std::string("a") + static_cast<char>(c) + "b";
    EXPECT_EQ(AdminLine({word}).has_value(), allowed.contains(static_cast<char>(c))) << c;
  }
}

TEST(AdminLine, RefusesEmptyAndLongOnes) {
  EXPECT_FALSE(AdminLine({}));
  EXPECT_FALSE(AdminLine({"a", "", "b"}));
  EXPECT_FALSE(AdminLine({std::string(kMaxWord + 1, 'a')}));
  const std::string word(kMaxWord, 'a');
  EXPECT_TRUE(AdminLine(std::vector<std::string_view>(7, word)));
  EXPECT_FALSE(AdminLine(std::vector<std::string_view>(8, word)));
}

TEST(CheckRoute, SaysTheFieldThatCannotBeUsed) {
  const std::vector<std::string> reserved = {"/run/cubeplane/i1/admin.sock"};
  EXPECT_TRUE(CheckRoute(GoodRoute(), "localhost", reserved));
  struct Case {
    std::string state::Route::* member;
    std::string value, field;
  };
  for (const Case& c :
       std::vector<Case>{{&state::Route::host, "nb--demo.example", "host"},
                         {&state::Route::host, "NB.localhost", "host"},
                         {&state::Route::host, "-nb.localhost", "host"},
                         {&state::Route::host, "nb-.localhost", "host"},
                         {&state::Route::host, "nb..localhost", "host"},
                         {&state::Route::host, "nb demo.localhost", "host"},
                         {&state::Route::host, std::string(64, 'a') + ".localhost", "host"},
                         {&state::Route::owner, "ann|bob", "owner"},
                         {&state::Route::owner, "ann\n", "owner"},
                         {&state::Route::owner, std::string(129, 'a'), "owner"},
                         {&state::Route::upstream, "unix@/run/cubeplane/i1/admin.sock", "upstream"},
                         {&state::Route::upstream, "unix@/run/cubeplane/i1/../i1/admin.sock", "upstream"},
                         {&state::Route::upstream, "unix@/run//cubeplane/i1/admin.sock", "upstream"},
                         {&state::Route::upstream, "10.0.0.1:80", "upstream"},
                         {&state::Route::upstream, "unix@/" + std::string(100, 'a'), "upstream"},
                         {&state::Route::instance, "p/1", "instance"},
                         {&state::Route::secret, "0123456789abcde", "secret"},
                         {&state::Route::secret, "0123456789abcdef;", "secret"}}) {
    state::Route route = GoodRoute();
    route.*c.member = c.value;
    const auto checked = CheckRoute(route, "localhost", reserved);
    ASSERT_FALSE(checked) << c.value;
    EXPECT_EQ(checked.error().code, Code::kInvalid);
    ASSERT_EQ(checked.error().fields.size(), 1u);
    EXPECT_EQ(checked.error().fields[0].path, c.field);
  }
}

TEST(CheckRoute, NeverRepeatsTheSecret) {
  state::Route route = GoodRoute();
  route.secret = "verysecret but with blanks";
  const auto checked = CheckRoute(route, "localhost", {});
  ASSERT_FALSE(checked);
  EXPECT_FALSE(checked.error().message.contains("verysecret"));
  EXPECT_EQ(checked.error().fields[0].found, "");
}

}  // namespace
}  // namespace cubeplane::gateway
