#include "apiserver/selector.h"

#include <algorithm>

namespace cubeplane::apiserver {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool IsWord(std::string_view text, bool may_be_empty) {
  if (text.empty()) return may_be_empty;
  return text.size() <= 253 + 1 + 63 && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '_' || c == '.' || c == '/';
         });
}

constexpr std::string_view kAllowed = "a=b, a!=b, a in (b,c), a notin (b,c), a, !a, joined by commas";

std::unexpected<Error> Bad(std::string_view found) {
  Error error(Code::kBadRequest, "bad_parameter",
              {{"parameter", "labelSelector"},
               {"found", std::string(found.substr(0, 200))},
               {"allowed", std::string(kAllowed)}},
              "labelSelector cannot be read");
  error.fields.push_back({"query.labelSelector", std::string(found.substr(0, 200)), std::string(kAllowed)});
  return Fail(std::move(error));
}

// Splits at commas outside of brackets.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.push_back(Trim(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(Trim(text.substr(start)));
  return parts;
}

}  // namespace

bool Selector::Requirement::Matches(const model::StringMap& labels) const {
  const auto found = labels.find(key);
  const bool there = found != labels.end();
  const bool among = there && std::ranges::find(values, found->second) != values.end();
  switch (op) {
    case Operator::kIn:
      return among;
    case Operator::kNotIn:
      return !among;  // an absent label is not among them, as in Kubernetes
    case Operator::kExists:
      return there;
    case Operator::kAbsent:
      return !there;
  }
  return false;
}

Result<Selector::Requirement> Selector::ParseOne(std::string_view text) {
  Requirement requirement;
  if (const size_t bracket = text.find('('); bracket != std::string_view::npos) {
    if (text.back() != ')') return Bad(text);
    const std::string_view head = Trim(text.substr(0, bracket));
    const size_t blank = head.find_last_of(" \t");
    if (blank == std::string_view::npos) return Bad(text);
    const std::string_view word = head.substr(blank + 1);
    if (word != "in" && word != "notin") return Bad(text);
    requirement.op = word == "in" ? Operator::kIn : Operator::kNotIn;
    requirement.key = Trim(head.substr(0, blank));
    for (std::string_view value : Split(text.substr(bracket + 1, text.size() - bracket - 2))) {
      if (!IsWord(value, true)) return Bad(text);
      requirement.values.emplace_back(value);
    }
  } else if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    const bool negated = equals > 0 && text[equals - 1] == '!';
    const bool doubled = equals + 1 < text.size() && text[equals + 1] == '=';
    requirement.op = negated ? Operator::kNotIn : Operator::kIn;
    requirement.key = Trim(text.substr(0, negated ? equals - 1 : equals));
    const std::string_view value = Trim(text.substr(equals + (doubled ? 2 : 1)));
    if (!IsWord(value, true)) return Bad(text);
    requirement.values.emplace_back(value);
  } else {
    const bool absent = text.starts_with('!');
    requirement.op = absent ? Operator::kAbsent : Operator::kExists;
    requirement.key = Trim(absent ? text.substr(1) : text);
  }
  if (!IsWord(requirement.key, false)) return Bad(text);
  return requirement;
}

Result<Selector> Selector::Parse(std::string_view text) {
  Selector selector;
  if (Trim(text).empty()) return selector;
  for (std::string_view part : Split(text)) {
    if (part.empty()) return Bad(text);
    ASSIGN_OR_RETURN(Requirement requirement, ParseOne(part));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool Selector::Matches(const model::StringMap& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& one) { return one.Matches(labels); });
}

}  // namespace cubeplane::apiserver
