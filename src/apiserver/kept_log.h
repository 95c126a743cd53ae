// A log that was kept after its attempt had ended: lines of `<RFC 3339 time> <text>` in a file, or in the
// store.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/logs.h"
#include "async/pool.h"
#include "storage/store.h"

namespace cubeplane::apiserver {

// The lines without their times, or with them. Reads piece by piece on the pool, which outlives the body.
// kNotFound when the file is gone (its retention is over).
async::Task<Result<std::shared_ptr<http::BodyStream>>> OpenKeptLog(async::BlockingPool& pool,
                                                                   storage::KeptLog log, LogOptions options);

// Takes the time off each line of text that comes in pieces. Pure but for what it remembers between pieces.
class TimeStripper {
 public:
  std::string Strip(std::string_view piece);

 private:
  bool in_time_ = true;
};

}  // namespace cubeplane::apiserver
