#include "json/builder.h"

#include <algorithm>

namespace cubeplane::json {
namespace {

// Objects up to this size are searched member by member; larger ones get a set, so that reading stays linear.
constexpr size_t kSmallObject = 16;
constexpr size_t kShownKey = 80;

}  // namespace

bool Builder::Refuse(std::string problem, bool too_large) {
  problem_ = std::move(problem);
  too_large_ = too_large;
  return false;
}

bool Builder::Open(Value empty) {
  if (frames_.size() >= limits_.max_depth) {
    return Refuse("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
  }
  if (++nodes_ > limits_.max_nodes)
    return Refuse("more than " + std::to_string(limits_.max_nodes) + " values", true);
  frames_.push_back(Frame{.value = std::move(empty)});
  return true;
}

bool Builder::OpenArray() { return Open(Array()); }
bool Builder::OpenObject() { return Open(Object()); }

bool Builder::Key(std::string key) {
  Frame& frame = frames_.back();
  const Object& object = frame.value.AsObject();
  bool known = false;
  if (object.size() < kSmallObject) {
    known = object.Contains(key);
  } else {
    if (frame.keys.empty()) {
      for (const auto& member : object) frame.keys.insert(member.first);
    }
    known = !frame.keys.insert(key).second;
  }
  if (known) return Refuse("the key \"" + key.substr(0, kShownKey) + "\" stands twice in the same object");
  frame.key = std::move(key);
  return true;
}

bool Builder::Add(Value value, size_t nodes, size_t depth) {
  nodes_ += nodes;
  if (nodes_ > limits_.max_nodes)
    return Refuse("more than " + std::to_string(limits_.max_nodes) + " values", true);
  if (frames_.size() + depth > limits_.max_depth + 1) {
    return Refuse("nested deeper than " + std::to_string(limits_.max_depth) + " levels");
  }
  Place(std::move(value));
  return true;
}

bool Builder::Close() {
  Value value = std::move(frames_.back().value);
  frames_.pop_back();
  Place(std::move(value));
  return true;
}

void Builder::Place(Value value) {
  if (frames_.empty()) {
    root_ = std::move(value);
    last_ = &root_;
    return;
  }
  Frame& frame = frames_.back();
  if (frame.value.IsArray()) {
    last_ = &frame.value.MakeArray().emplace_back(std::move(value));
  } else {
    last_ = &frame.value.MakeObject().Append(std::move(*frame.key), std::move(value));
    frame.key.reset();
  }
}

Place PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  return {.line = 1 + static_cast<size_t>(std::ranges::count(before, '\n')),
          .column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline};
}

size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !tail(at + 1)) return 0;
  if (first < 0xE0) return 2;
  if (!tail(at + 2)) return 0;
  const unsigned second = byte(at + 1);
  if (first < 0xF0) {
    // No overlong forms, no surrogates.
    return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ? 0 : 3;
  }
  if (!tail(at + 3) || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return 4;
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace cubeplane::json
