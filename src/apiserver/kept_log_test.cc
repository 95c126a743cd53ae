#include "apiserver/kept_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "async/group.h"
#include "async/manual_executor.h"

namespace cubeplane::apiserver {
namespace {

class KeptLogTest : public ::testing::Test {
 protected:
  KeptLogTest() { close(mkstemp(path_)); }
  ~KeptLogTest() override { unlink(path_); }

  static async::Task<void> ReadAll(async::BlockingPool& pool, storage::KeptLog log, LogOptions options,
                                   std::string& text) {
    Result<std::shared_ptr<http::BodyStream>> body = co_await OpenKeptLog(pool, std::move(log), options);
    if (!body) {
      text = "error: " + std::string(CodeName(body.error().code));
      co_return;
    }
    for (;;) {
      Result<std::string> piece = co_await (*body)->Read();
      if (!piece || piece->empty()) co_return;
      text += *piece;
    }
  }
  std::string Read(storage::KeptLog log, LogOptions options) {
    std::string text;
    async::TaskGroup group(executor_);
    group.Spawn(ReadAll(pool_, std::move(log), options, text));
    executor_.RunUntilIdle();
    return text;
  }
  storage::KeptLog InFile(const std::string& text) {
    std::ofstream(path_, std::ios::trunc) << text;
    return {"uid", 1, path_, "", Time()};
  }

  char path_[64] = "/tmp/kept_log_test.XXXXXX";
  ManualClock clock_;
  async::ManualExecutor executor_{clock_};
  async::BlockingPool pool_{executor_, 0};
};

TEST_F(KeptLogTest, TimesAreTakenOffUnlessAskedFor) {
  const std::string text =
      "2026-03-04T06:02:07.1Z one two\n2026-03-04T06:02:08Z \n2026-03-04T06:02:09Z three\n";
  EXPECT_EQ(Read(InFile(text), {}), "one two\n\nthree\n");
  EXPECT_EQ(Read(InFile(text), {.timestamps = true}), text);
  EXPECT_EQ(Read({"uid", 1, "", text, Time()}, {}), "one two\n\nthree\n") << "kept in the store";
}

TEST_F(KeptLogTest, TheTailCountsLinesAcrossPieces) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "t " + std::to_string(i) + std::string(50, 'x') + "\n";
  const auto last = [&](int64_t lines) {
    std::string expected;
    for (int64_t i = 5000 - lines; i < 5000; ++i) expected += std::to_string(i) + std::string(50, 'x') + "\n";
    return expected;
  };
  for (const int64_t lines : {0, 1, 2, 1500, 5000}) {
    EXPECT_EQ(Read(InFile(text), {.tail = lines}), last(lines)) << lines;
    EXPECT_EQ(Read({"uid", 1, "", text, Time()}, {.tail = lines}), last(lines)) << lines;
  }
  EXPECT_EQ(Read(InFile(text), {.tail = 9000}), last(5000));
  EXPECT_EQ(Read(InFile("t no end"), {.tail = 1}), "no end");
}

TEST_F(KeptLogTest, AFileThatIsGoneIsNotFound) {
  EXPECT_EQ(Read({"uid", 1, "/nonexistent/x.log", "", Time()}, {}), "error: NotFound");
}

TEST(TimeStripper, WorksWhereverThePiecesAreCut) {
  const std::string text = "2026 a b\n2026 \n2026 c\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    TimeStripper stripper;
    std::string out = stripper.Strip(text.substr(0, cut));
    out += stripper.Strip(text.substr(cut));
    EXPECT_EQ(out, "a b\n\nc\n") << cut;
  }
}

}  // namespace
}  // namespace cubeplane::apiserver
