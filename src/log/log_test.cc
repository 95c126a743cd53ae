#include "log/log.h"

#include <gtest/gtest.h>

namespace cubeplane::log {
namespace {

TEST(Format, IsOneLineWhateverTheFieldsHold) {
  const Record record{Level::kWarn, "bad \n line", {{"key", "a b\n\x1b[31m"}, {"n", "1"}, {"empty", ""}}};
  const std::string text = Format(record, Time(), Form::kText);
  EXPECT_EQ(text,
            "1970-01-01T00:00:00.000Z warn bad \\u000a line key=\"a b\\u000a\\u001b[31m\" n=1 empty=\"\"\n");
  EXPECT_EQ(
      Format({Level::kInfo, "a\"b", {{"k", "\\"}}}, Time(), Form::kJson),
      "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"info\",\"message\":\"a\\\"b\",\"k\":\"\\\\\"}\n");
}

TEST(Sink, GetsRecordsUntilItIsTakenOut) {
  struct Keep : Sink {
    std::vector<Record> records;
    void Write(const Record& record) override { records.push_back(record); }
  };
  auto keep = std::make_shared<Keep>();
  SetSink(keep);
  Warn("one", {{"a", "b"}});
  SetSink(nullptr);
  Warn("two");
  ASSERT_EQ(keep->records.size(), 1u);
  EXPECT_EQ(keep->records[0].message, "one");
}

}  // namespace
}  // namespace cubeplane::log
