// Label selectors as Kubernetes writes them: `a=b,c==d,e!=f,g in (h,i),j notin (k),l,!m`. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/objects.h"

namespace cubeplane::apiserver {

class Selector {
 public:
  // kBadRequest with what was found. The empty text selects everything.
  static Result<Selector> Parse(std::string_view text);
  bool Matches(const model::StringMap& labels) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kAbsent };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
    bool Matches(const model::StringMap& labels) const;
  };
  static Result<Requirement> ParseOne(std::string_view text);
  std::vector<Requirement> requirements_;
};

}  // namespace cubeplane::apiserver
