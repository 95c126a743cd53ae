// Small flat JSON bodies (log-in, users, tokens): known members of known types, everything else refused with
// its path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/context.h"

namespace cubeplane::apiserver {

// Collects every problem; Done gives them all as one kInvalid.
class BodyFields {
 public:
  explicit BodyFields(const json::Value& body);
  std::optional<std::string> String(std::string_view name, bool required, size_t max);
  std::optional<bool> Bool(std::string_view name);
  std::optional<int64_t> Int(std::string_view name, int64_t min, int64_t max);
  // One of `words`.
  std::string Word(std::string_view name, const std::vector<std::string>& words, std::string fallback);
  Result<void> Done();

 private:
  const json::Value* Find(std::string_view name);
  void Problem(std::string_view name, const json::Value& found, std::string allowed);

  const json::Value& body_;
  std::vector<std::string> known_;
  std::vector<FieldProblem> problems_;
};

}  // namespace cubeplane::apiserver
