// Collects everything that is wrong with an object, so that one answer names all of it. Plain value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace cubeplane::model {

class Problems {
 public:
  // `reason` is a code of api/reasons.yaml for the case that this is the only problem; "" for the general
  // sentence.
  void Add(std::string path, std::string found, std::string allowed, std::string reason = "",
           Params params = {});
  void Add(FieldProblem problem) { Add(problem.path, problem.found, problem.allowed); }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  // kInvalid with a sentence that names the first few; the fields hold at most kMaxKept.
  Error ToError() const;
  Result<void> ToResult() const;

  static constexpr size_t kMaxKept = 50;
  static constexpr size_t kMaxFound = 200;  // bytes of FieldProblem::found

 private:
  size_t count_ = 0;
  std::vector<FieldProblem> kept_;
  std::string reason_;  // of the first problem
  Params params_;
};

// What stood there, for FieldProblem::found: the text of a scalar, the kind of anything else.
std::string FoundText(const json::Value& value);
// At most `max` bytes, never in the middle of a character.
std::string CutText(std::string_view text, size_t max);
// The candidate that `word` was probably meant to be; "" when none is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates);
// "a, b, c"
std::string Join(const std::vector<std::string_view>& words);

}  // namespace cubeplane::model
