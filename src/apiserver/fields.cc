#include "apiserver/fields.h"

#include <algorithm>

#include "json/json.h"

namespace cubeplane::apiserver {

BodyFields::BodyFields(const json::Value& body) : body_(body) {
  if (!body.IsObject()) problems_.push_back({"body", std::string(body.TypeName()), "an object"});
}

const json::Value* BodyFields::Find(std::string_view name) {
  known_.emplace_back(name);
  return body_.IsObject() ? body_.AsObject().Find(name) : nullptr;
}

void BodyFields::Problem(std::string_view name, const json::Value& found, std::string allowed) {
  // What was sent may be a password: only its type is said back.
  const bool secret = name == "password" || name == "current";
  std::string text = secret ? std::string(found.TypeName()) : json::Write(found);
  if (text.size() > 200) text.resize(200);
  problems_.push_back({std::string(name), std::move(text), std::move(allowed)});
}

std::optional<std::string> BodyFields::String(std::string_view name, bool required, size_t max) {
  const json::Value* value = Find(name);
  if (value == nullptr || value->IsNull()) {
    if (required && body_.IsObject()) problems_.push_back({std::string(name), "nothing", "a string"});
    return std::nullopt;
  }
  if (!value->IsString() || value->AsString().size() > max) {
    Problem(name, *value, "a string of at most " + std::to_string(max) + " bytes");
    return std::nullopt;
  }
  return value->AsString();
}

std::optional<bool> BodyFields::Bool(std::string_view name) {
  const json::Value* value = Find(name);
  if (value == nullptr || value->IsNull()) return std::nullopt;
  if (value->IsBool()) return value->AsBool();
  Problem(name, *value, "true or false");
  return std::nullopt;
}

std::optional<int64_t> BodyFields::Int(std::string_view name, int64_t min, int64_t max) {
  const json::Value* value = Find(name);
  if (value == nullptr || value->IsNull()) return std::nullopt;
  if (value->IsInt() && value->AsInt() >= min && value->AsInt() <= max) return value->AsInt();
  Problem(name, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::string BodyFields::Word(std::string_view name, const std::vector<std::string>& words,
                             std::string fallback) {
  const json::Value* value = Find(name);
  if (value == nullptr || value->IsNull()) return fallback;
  if (value->IsString() && std::ranges::find(words, value->AsString()) != words.end())
    return value->AsString();
  std::string allowed;
  for (const std::string& word : words) allowed += (allowed.empty() ? "\"" : ", \"") + word + "\"";
  Problem(name, *value, allowed);
  return fallback;
}

Result<void> BodyFields::Done() {
  for (const auto& [name, value] : body_.AsObject()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    std::string allowed;
    for (const std::string& known : known_) allowed += (allowed.empty() ? "" : ", ") + known;
    problems_.push_back({name.substr(0, 100), "an unknown field", allowed});
  }
  if (problems_.empty()) return {};
  Error error(Code::kInvalid, problems_.size() == 1 ? "field_not_allowed" : "fields_not_allowed", {},
              "fields are not allowed");
  if (problems_.size() > 1) error.params.emplace_back("n", std::to_string(problems_.size()));
  const FieldProblem& first = problems_.front();
  error.params.insert(error.params.end(),
                      {{"field", first.path}, {"found", first.found}, {"allowed", first.allowed}});
  error.fields = std::move(problems_);
  return Fail(std::move(error));
}

}  // namespace cubeplane::apiserver
