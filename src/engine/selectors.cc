#include "engine/selectors.h"

#include <algorithm>

#include "engine/validation_words.h"

namespace cubeplane::engine {
namespace {

constexpr size_t kMaxRequirements = 100;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside parentheses.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view term = Trim(text.substr(start, i - start));
      if (!term.empty()) terms.push_back(term);
      start = i + 1;
    }
  }
  return terms;
}

std::vector<std::string> SplitValues(std::string_view text) {
  std::vector<std::string> values;
  for (;;) {
    const size_t comma = text.find(',');
    values.emplace_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

Requirement ParseRequirement(std::string_view term) {
  using Op = Requirement::Op;
  if (const size_t open = term.find('('); open != std::string_view::npos && term.back() == ')') {
    const std::string_view head = Trim(term.substr(0, open));
    const size_t blank = head.find(' ');
    const std::string_view word = blank == std::string_view::npos ? "" : Trim(head.substr(blank));
    if (word == "in" || word == "notin") {
      return {std::string(head.substr(0, blank)), word == "in" ? Op::kIn : Op::kNotIn,
              SplitValues(term.substr(open + 1, term.size() - open - 2))};
    }
    return {};
  }
  if (term.front() == '!') return {std::string(Trim(term.substr(1))), Op::kNotExists, {}};
  const size_t equal = term.find('=');
  if (equal == std::string_view::npos) return {std::string(term), Op::kExists, {}};
  const bool negated = equal > 0 && term[equal - 1] == '!';
  const size_t skip = equal + 1 < term.size() && term[equal + 1] == '=' ? 2 : 1;
  return {std::string(Trim(term.substr(0, negated ? equal - 1 : equal))),
          negated ? Op::kNotIn : Op::kIn,
          {std::string(Trim(term.substr(equal + skip)))}};
}

bool Meets(const json::Value& labels, const Requirement& requirement) {
  const json::Value& label = labels[requirement.key];
  const auto is_one = [&] {
    return std::ranges::find(requirement.values, label.AsString()) != requirement.values.end();
  };
  switch (requirement.op) {
    case Requirement::Op::kIn:
      return label.IsString() && is_one();
    case Requirement::Op::kNotIn:
      return !label.IsString() || !is_one();
    case Requirement::Op::kExists:
      return label.IsString();
    case Requirement::Op::kNotExists:
      return !label.IsString();
  }
  return false;
}

}  // namespace

Answer<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  for (const std::string_view term : SplitTerms(text)) {
    Requirement requirement = ParseRequirement(term);
    bool good = QualifiedNameProblem(requirement.key).empty();
    for (const std::string& value : requirement.values) good = good && LabelValueProblem(value).empty();
    if (!good || selector.requirements_.size() >= kMaxRequirements) {
      return Refuse(
          BadRequest("unable to parse requirement: found '" + std::string(term) +
                     "', expected: key, !key, key=value, key!=value, key in (a,b) or key notin (a,b)"));
    }
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

LabelSelector LabelSelector::FromMap(const json::Value& map) {
  LabelSelector selector;
  selector.nothing_ = map.AsObject().empty();
  for (const auto& [key, value] : map.AsObject()) {
    selector.requirements_.push_back({key, Requirement::Op::kIn, {value.AsString()}});
  }
  return selector;
}

LabelSelector LabelSelector::FromObject(const json::Value& object) {
  LabelSelector selector = FromMap(object["matchLabels"]);
  selector.nothing_ = !object.IsObject();
  for (const json::Value& expression : object["matchExpressions"].AsArray()) {
    const std::string& word = expression["operator"].AsString();
    Requirement requirement{expression["key"].AsString(), Requirement::Op::kIn, {}};
    if (word == "NotIn") requirement.op = Requirement::Op::kNotIn;
    if (word == "Exists") requirement.op = Requirement::Op::kExists;
    if (word == "DoesNotExist") requirement.op = Requirement::Op::kNotExists;
    for (const json::Value& value : expression["values"].AsArray())
      requirement.values.push_back(value.AsString());
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool LabelSelector::Matches(const json::Value& object) const {
  if (nothing_) return false;
  const json::Value& labels = object["metadata"]["labels"];
  return std::ranges::all_of(requirements_, [&](const Requirement& r) { return Meets(labels, r); });
}

Answer<FieldSelector> FieldSelector::Parse(const Kind& kind, std::string_view text) {
  FieldSelector selector;
  for (const std::string_view part : SplitTerms(text)) {
    const Requirement read = ParseRequirement(part);
    if (read.values.size() != 1) {
      return Refuse(BadRequest("invalid selector: '" + std::string(part) + "'; can't understand '" +
                               std::string(part) + "'"));
    }
    const bool known = read.key == "metadata.name" || read.key == "metadata.namespace" ||
                       std::ranges::find(kind.fields, read.key) != kind.fields.end();
    if (!known || selector.terms_.size() >= kMaxRequirements) {
      return Refuse(BadRequest("Unable to find \"" + kind.ApiVersion() + ", Resource=" + kind.plural +
                               "\" that match label selector \"\", field selector \"" + std::string(text) +
                               "\": field label not supported: " + read.key));
    }
    selector.terms_.push_back({read.key, read.values[0], read.op == Requirement::Op::kIn});
  }
  return selector;
}

bool FieldSelector::Matches(const json::Value& object) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const json::Value& value = term.path == "source" ? object["source"]["component"] : object.At(term.path);
    std::string text = value.AsString();
    if (term.path == "spec.unschedulable") text = value.AsBool() ? "true" : "false";
    return (text == term.value) == term.equal;
  });
}

}  // namespace cubeplane::engine
