#include "json/value.h"

#include <charconv>

namespace cubeplane::json {
namespace {

const Value kNull;
const std::string kEmptyString;
const Array kEmptyArray;
const Object kEmptyObject;

}  // namespace

Object::Object(std::initializer_list<Member> members) {
  for (const Member& member : members) Set(member.first, member.second);
}

const Value* Object::Find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Value* Object::Find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }

Value& Object::Set(std::string_view key, Value value) {
  if (Value* found = Find(key)) {
    *found = std::move(value);
    return *found;
  }
  members_.emplace_back(std::string(key), std::move(value));
  return members_.back().second;
}

Value& Object::operator[](std::string_view key) {
  if (Value* found = Find(key)) return *found;
  members_.emplace_back(std::string(key), Value());
  return members_.back().second;
}

Value& Object::Append(std::string key, Value value) {
  members_.emplace_back(std::move(key), std::move(value));
  return members_.back().second;
}

bool Object::Erase(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.first == key; }) > 0;
}

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a) {
    const Value* other = b.Find(key);
    if (!other || !(*other == value)) return false;
  }
  return true;
}

Value::Value(uint64_t value) {
  if (value <= INT64_MAX) {
    data_ = static_cast<int64_t>(value);
  } else {
    data_ = static_cast<double>(value);
  }
}

bool Value::AsBool(bool fallback) const { return IsBool() ? std::get<bool>(data_) : fallback; }
int64_t Value::AsInt(int64_t fallback) const { return IsInt() ? std::get<int64_t>(data_) : fallback; }
double Value::AsDouble(double fallback) const {
  if (IsInt()) return static_cast<double>(std::get<int64_t>(data_));
  return IsDouble() ? std::get<double>(data_) : fallback;
}
const std::string& Value::AsString() const {
  return IsString() ? std::get<std::string>(data_) : kEmptyString;
}
const Array& Value::AsArray() const { return IsArray() ? std::get<Array>(data_) : kEmptyArray; }
const Object& Value::AsObject() const { return IsObject() ? std::get<Object>(data_) : kEmptyObject; }

Array& Value::MakeArray() {
  if (!IsArray()) data_ = Array();
  return std::get<Array>(data_);
}

Object& Value::MakeObject() {
  if (!IsObject()) data_ = Object();
  return std::get<Object>(data_);
}

const Value& Value::operator[](std::string_view key) const {
  const Value* found = AsObject().Find(key);
  return found ? *found : kNull;
}

const Value& Value::At(std::string_view dotted) const {
  const Value* at = this;
  while (!dotted.empty()) {
    const size_t dot = dotted.find('.');
    const std::string_view part = dotted.substr(0, dot);
    dotted = dot == std::string_view::npos ? std::string_view() : dotted.substr(dot + 1);
    if (at->IsArray()) {
      size_t index = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      if (error != std::errc() || end != part.data() + part.size() || index >= at->AsArray().size())
        return kNull;
      at = &at->AsArray()[index];
    } else {
      at = &(*at)[part];
    }
  }
  return *at;
}

std::string_view Value::TypeName() const {
  if (IsNull()) return "null";
  if (IsBool()) return "a boolean";
  if (IsNumber()) return "a number";
  if (IsString()) return "a string";
  return IsArray() ? "a list" : "an object";
}

}  // namespace cubeplane::json
