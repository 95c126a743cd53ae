// A JSON value: what objects look like between the wire and the typed model.
//
// Plain values: copy is deep. Objects keep the order in which members were added; two objects are equal when
// they have the same members in any order. Integers that fit int64 stay integers; other numbers are doubles.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cubeplane::json {

class Value;
using Array = std::vector<Value>;

class Object {
 public:
  using Member = std::pair<std::string, Value>;
  Object() = default;
  Object(std::initializer_list<Member> members);

  // Null when there is no such member.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  bool Contains(std::string_view key) const { return Find(key) != nullptr; }
  // Replaces or appends; gives the stored value.
  Value& Set(std::string_view key, Value value);
  // The member, made null when it was not there.
  Value& operator[](std::string_view key);
  bool Erase(std::string_view key);
  // Adds a member that is known not to be there yet; constant time, for readers that looked themselves.
  Value& Append(std::string key, Value value);

  using const_iterator = std::vector<Member>::const_iterator;
  using iterator = std::vector<Member>::iterator;
  size_t size() const;
  bool empty() const;
  const_iterator begin() const;
  const_iterator end() const;
  iterator begin();
  iterator end();
  friend bool operator==(const Object& a, const Object& b);

 private:
  std::vector<Member> members_;
};

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<int64_t>(value)) {}
  Value(int64_t value) : data_(value) {}
  Value(uint64_t value);
  Value(double value) : data_(value) {}
  Value(const char* text) : data_(std::string(text)) {}
  Value(std::string_view text) : data_(std::string(text)) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(Array array) : data_(std::move(array)) {}
  Value(Object object) : data_(std::move(object)) {}

  bool IsNull() const { return std::holds_alternative<std::monostate>(data_); }
  bool IsBool() const { return std::holds_alternative<bool>(data_); }
  bool IsInt() const { return std::holds_alternative<int64_t>(data_); }
  bool IsDouble() const { return std::holds_alternative<double>(data_); }
  bool IsNumber() const { return IsInt() || IsDouble(); }
  bool IsString() const { return std::holds_alternative<std::string>(data_); }
  bool IsArray() const { return std::holds_alternative<Array>(data_); }
  bool IsObject() const { return std::holds_alternative<Object>(data_); }

  // Lenient readers: the fallback when the value has another type.
  bool AsBool(bool fallback = false) const;
  int64_t AsInt(int64_t fallback = 0) const;
  double AsDouble(double fallback = 0) const;
  const std::string& AsString() const;  // "" when not a string
  const Array& AsArray() const;         // empty when not an array
  const Object& AsObject() const;       // empty when not an object

  // Writers: turn the value into an array or object when it is something else.
  Array& MakeArray();
  Object& MakeObject();

  // A member of an object; the null value when absent or when this is no object. Chains:
  // v["a"]["b"].AsString().
  const Value& operator[](std::string_view key) const;
  // "a.b.c" with numbers for array places; null when any part is absent. Keys with dots need operator[].
  const Value& At(std::string_view dotted) const;
  // Sets a member, making this an object.
  Value& Set(std::string_view key, Value value) { return MakeObject().Set(key, std::move(value)); }
  bool Contains(std::string_view key) const { return IsObject() && AsObject().Contains(key); }
  bool Erase(std::string_view key) { return IsObject() && MakeObject().Erase(key); }

  // "null", "a boolean", "a number", "a string", "a list", "an object": for messages.
  std::string_view TypeName() const;

  friend bool operator==(const Value& a, const Value& b) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

// Below Value, because they need its size.
inline size_t Object::size() const { return members_.size(); }
inline bool Object::empty() const { return members_.empty(); }
inline Object::const_iterator Object::begin() const { return members_.begin(); }
inline Object::const_iterator Object::end() const { return members_.end(); }
inline Object::iterator Object::begin() { return members_.begin(); }
inline Object::iterator Object::end() { return members_.end(); }

}  // namespace cubeplane::json
