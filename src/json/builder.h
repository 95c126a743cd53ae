// Builds a Value from a reader's events, with the limits that JSON and YAML share. Private to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "json/json.h"

namespace cubeplane::json {

// Threading: one thread. Feed it well-nested events; a false answer means that `problem()` says why and that
// no more may be fed.
class Builder {
 public:
  explicit Builder(const Limits& limits) : limits_(limits) {}

  bool OpenArray();
  bool OpenObject();
  // False for a key that the object has already.
  bool Key(std::string key);
  // Adds a finished value; `nodes` and `depth` are what it holds, itself included.
  bool Add(Value value, size_t nodes = 1, size_t depth = 1);
  // Ends the innermost array or object and adds it to the one around it.
  bool Close();

  size_t depth() const { return frames_.size(); }
  size_t nodes() const { return nodes_; }
  bool in_object() const { return !frames_.empty() && frames_.back().value.IsObject(); }
  bool key_is_next() const { return in_object() && !frames_.back().key; }
  // The value closed or added last at the outermost level.
  Value Take() { return std::exchange(root_, Value()); }
  const std::string& problem() const { return problem_; }
  bool too_large() const { return too_large_; }
  const Limits& limits() const { return limits_; }
  // The innermost finished value: valid until the next event.
  const Value& last() const { return *last_; }

 private:
  struct Frame {
    Value value;
    std::optional<std::string> key;
    std::unordered_set<std::string> keys;  // filled once the object is too large to look through
  };
  bool Open(Value empty);
  void Place(Value value);
  bool Refuse(std::string problem, bool too_large = false);

  const Limits limits_;
  std::vector<Frame> frames_;
  Value root_;
  const Value* last_ = nullptr;
  size_t nodes_ = 0;
  std::string problem_;
  bool too_large_ = false;
};

// Line and column (in bytes), both from 1, of a place in a text.
struct Place {
  size_t line = 1;
  size_t column = 1;
};
Place PlaceOf(std::string_view text, size_t offset);

// The offset of the first byte that is not well-formed UTF-8; npos when all is.
size_t FindInvalidUtf8(std::string_view text);
// How many bytes the well-formed UTF-8 character at `at` has; 0 when it is not well-formed.
size_t Utf8Length(std::string_view text, size_t at);

}  // namespace cubeplane::json
