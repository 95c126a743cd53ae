#include "gateway/config.h"

#include <gtest/gtest.h>

#include "gateway/pages.h"
#include "json/json.h"
#include "model/reasons.h"

namespace cubeplane::gateway {
namespace {

ConfigInput Good() {
  return {.port = 8080,
          .instance = "i1",
          .domain = "localhost",
          .admin_socket = "/run/cubeplane/i1/gateway/admin.sock",
          .platform_socket = "/run/cubeplane/i1/platform.sock",
          .state_key = std::string(64, 'a'),
          .max_connections = 1000};
}

TEST(Config, HasNoBlankLeftToFill) {
  const std::string text = WholeConfig(StaticConfig(Good(), ConfigMark(Good())), {{"p1.1", "unix@/d/p1"}});
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    EXPECT_FALSE(text.substr(at + 1, 3) >= "AAA" && text.substr(at + 1, 3) <= "ZZZ") << text.substr(at, 20);
  }
  EXPECT_TRUE(text.ends_with("    server p1.1 unix@/d/p1 weight 0 pool-max-conn 0\n"));
}

TEST(Config, MarkTellsConfigurationsApartAndHidesTheKey) {
  ConfigInput other = Good();
  other.port = 8081;
  EXPECT_EQ(ConfigMark(Good()), ConfigMark(Good()));
  EXPECT_NE(ConfigMark(Good()), ConfigMark(other));
  other = Good();
  other.max_connections = 500;
  EXPECT_EQ(ConfigMark(Good()), ConfigMark(other));
  EXPECT_FALSE(ConfigMark(Good()).contains("aaaa"));
  // Servers come and go without another mark.
  EXPECT_TRUE(WholeConfig(StaticConfig(Good(), ConfigMark(Good())), {{"p1.1", "unix@/d/p1"}})
                  .contains(ConfigMark(Good())));
}

TEST(Config, OddInputIsRefused) {
  EXPECT_TRUE(CheckConfig(Good()));
  const auto refused = [](auto change) {
    ConfigInput input = Good();
    change(input);
    return !CheckConfig(input).has_value();
  };
  EXPECT_TRUE(refused([](ConfigInput& input) { input.port = 0; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.instance = "a b"; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.instance = ""; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.domain = "local\nhost"; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.admin_socket = "/run/a b/admin.sock"; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.admin_socket = "/" + std::string(120, 'a'); }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.platform_socket = "platform.sock"; }));
  EXPECT_TRUE(refused([](ConfigInput& input) { input.max_connections = 3; }));
}

TEST(Pages, EveryRefusalHasStatusJsonAndAPageInBothLanguages) {
  std::string_view rest;
  const std::string map = PagesMap();
  rest = map;
  size_t lines = 0;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    ++lines;
    const size_t blank = line.find(' ');
    const std::string_view form = line.substr(line.find('.') + 1, blank - line.find('.') - 1);
    const std::string_view body = line.substr(blank + 1);
    if (form.starts_with("json")) {
      const auto value = json::Parse(body);
      ASSERT_TRUE(value) << line;
      EXPECT_EQ((*value)["kind"].AsString(), "Status");
      EXPECT_EQ((*value)["status"].AsString(), "Failure");
      EXPECT_GE((*value)["code"].AsInt(), 400);
      EXPECT_TRUE(model::HasReason((*value)["details"]["code"].AsString())) << line;
      EXPECT_TRUE((*value)["message"].AsString().contains(form == "json-zh" ? "。" : ".")) << line;
    } else {
      EXPECT_TRUE(body.starts_with("<!doctype html>") && body.ends_with("</html>")) << line;
    }
  }
  EXPECT_EQ(lines, Refusals().size() * 4);
}

// Every reason that the rules can set has its row.
TEST(Pages, CoverWhatTheConfigurationSays) {
  const std::string text = StaticConfig(Good(), "");
  const std::string map = "\n" + PagesMap();
  for (size_t at = text.find("set-var(txn.why) str("); at != std::string::npos;
       at = text.find("set-var(txn.why) str(", at + 1)) {
    const size_t begin = at + 21;
    const std::string name = text.substr(begin, text.find(')', begin) - begin);
    EXPECT_TRUE(map.contains("\n" + name + ".json-en ")) << name;
  }
  for (const Refusal& refusal : Refusals()) {
    const std::string name(refusal.name);
    const bool by_haproxy =
        name.ends_with("-unreachable") || name.ends_with("-broken") || name.ends_with("-timeout");
    EXPECT_TRUE(by_haproxy || text.contains("str(" + name + ")") || text.contains("str(" + name + "."))
        << name;
  }
}

}  // namespace
}  // namespace cubeplane::gateway
