#include "model/problems.h"

#include <algorithm>
#include <cctype>

#include "json/json.h"

namespace cubeplane::model {
namespace {

constexpr size_t kShown = 5;  // problems spelled out in the sentence

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Insertions, deletions and exchanges that lead from a to b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

void Problems::Add(std::string path, std::string found, std::string allowed, std::string reason,
                   Params params) {
  if (count_++ == 0) {
    reason_ = std::move(reason);
    params_ = std::move(params);
  }
  if (kept_.size() < kMaxKept)
    kept_.push_back({std::move(path), CutText(found, kMaxFound), std::move(allowed)});
}

Error Problems::ToError() const {
  std::string message;
  for (size_t i = 0; i < kept_.size() && i < kShown; ++i) {
    const FieldProblem& problem = kept_[i];
    if (i > 0) message += "; ";
    message += problem.path + ": found " + (problem.found.empty() ? "nothing" : "`" + problem.found + "`") +
               ", allowed: " + problem.allowed;
  }
  if (count_ > kShown) message += "; and " + std::to_string(count_ - kShown) + " more";
  Error error(Code::kInvalid, std::move(message));
  error.fields = kept_;
  if (count_ == 1 && !reason_.empty()) {
    error.reason = reason_;
    error.params = params_;
  } else if (count_ > 0) {
    const FieldProblem& first = kept_.front();
    error.reason = count_ == 1 ? "field_not_allowed" : "fields_not_allowed";
    error.params = {{"n", std::to_string(count_)},
                    {"field", first.path},
                    {"found", first.found},
                    {"allowed", first.allowed}};
  }
  return error;
}

Result<void> Problems::ToResult() const {
  if (empty()) return {};
  return Fail(ToError());
}

std::string FoundText(const json::Value& value) {
  if (value.IsString()) return value.AsString();
  if (value.IsArray() || value.IsObject()) return std::string(value.TypeName());
  return json::Write(value);
}

std::string CutText(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > 64) return "";
  const std::string lower = Lower(word);
  std::string_view best;
  size_t best_distance = (word.size() < 5 ? 1 : std::max<size_t>(2, word.size() / 4)) + 1;
  for (std::string_view candidate : candidates) {
    const size_t distance = EditDistance(lower, Lower(candidate));
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return std::string(best);
}

std::string Join(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace cubeplane::model
