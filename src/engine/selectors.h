// Label and field selectors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/api/kinds.h"
#include "engine/status.h"

namespace cubeplane::engine {

struct Requirement {
  enum class Op { kIn, kNotIn, kExists, kNotExists };
  std::string key;
  Op op = Op::kIn;
  std::vector<std::string> values;
};

class LabelSelector {
 public:
  // "a=b,c!=d,e in (f,g),h notin (i),j,!k". Errors: 400.
  static Answer<LabelSelector> Parse(std::string_view text);
  // A metav1.LabelSelector (matchLabels, matchExpressions); matches nothing when null, everything when empty.
  static LabelSelector FromObject(const json::Value& selector);
  // A plain map, as a Service's spec.selector; matches nothing when empty.
  static LabelSelector FromMap(const json::Value& map);
  bool Matches(const json::Value& object) const;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

class FieldSelector {
 public:
  // "metadata.name=x,status.phase!=Running". Errors: 400 for fields that this kind cannot be selected by.
  static Answer<FieldSelector> Parse(const Kind& kind, std::string_view text);
  bool Matches(const json::Value& object) const;

 private:
  struct Term {
    std::string path, value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

}  // namespace cubeplane::engine
