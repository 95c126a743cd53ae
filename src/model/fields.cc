#include "model/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "model/codec.h"

namespace cubeplane::model {
namespace {

// A number as a person would write it in a quantity: 0.5, never 5E-1.
std::string NumberText(const json::Value& value) {
  if (value.IsInt()) return std::to_string(value.AsInt());
  char buffer[400];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value.AsDouble(), std::chars_format::fixed);
  return {buffer, end.ptr};
}

constexpr char kQuantityAllowed[] = "a quantity such as 2, 500m or 64Gi";

}  // namespace

Fields::Fields(const json::Value& value, std::string path, Problems& problems)
    : path_(std::move(path)), problems_(problems) {
  if (value.IsObject()) {
    object_ = &value.AsObject();
  } else if (!value.IsNull()) {
    problems_.Add(path_.empty() ? "body" : path_, FoundText(value), "an object");
  }
}

Fields::~Fields() {
  if (object_ == nullptr) return;
  for (const auto& [name, value] : *object_) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string near = DidYouMean(name, known_);
    std::string allowed = near.empty() ? "" : "did you mean `" + near + "`? ";
    problems_.Add(Path(name), "an unknown field", allowed + "one of " + Join(known_));
  }
}

std::string Fields::Path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const json::Value* Fields::Take(std::string_view name) {
  known_.push_back(name);
  if (object_ == nullptr) return nullptr;
  const json::Value* value = object_->Find(name);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

const json::Array* Fields::TakeList(std::string_view name, size_t max) {
  const json::Value* value = Take(name);
  if (value == nullptr) return nullptr;
  if (!value->IsArray()) {
    AddProblem(name, *value, "a list");
    return nullptr;
  }
  if (value->AsArray().size() > max) {
    problems_.Add(Path(name), std::to_string(value->AsArray().size()) + " items",
                  "at most " + std::to_string(max) + " items");
    return nullptr;
  }
  return &value->AsArray();
}

void Fields::AddProblem(std::string_view name, const json::Value& found, std::string allowed) {
  problems_.Add(Path(name), FoundText(found), std::move(allowed));
}

void Fields::AddWord(std::string_view name, const json::Value& found,
                     const std::vector<std::string_view>& allowed) {
  const std::string near = found.IsString() ? DidYouMean(found.AsString(), allowed) : "";
  AddProblem(name, found,
             (near.empty() ? "" : "did you mean `" + near + "`? ") + ("one of " + Join(allowed)));
}

void Fields::Read(std::string_view name, std::string& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (value->IsString()) {
    out = value->AsString();
  } else if (value->IsArray() || value->IsObject()) {
    AddProblem(name, *value, "a string");
  } else {
    AddProblem(name, *value, "a string; put it in quotes: \"" + FoundText(*value) + "\"");
  }
}

void Fields::Read(std::string_view name, bool& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (value->IsBool()) {
    out = value->AsBool();
  } else {
    AddProblem(name, *value, "true or false");
  }
}

bool Fields::ReadInteger(std::string_view name, int64_t min, int64_t max, int64_t& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return false;
  if (value->IsInt() && value->AsInt() >= min && value->AsInt() <= max) {
    out = value->AsInt();
    return true;
  }
  AddProblem(name, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return false;
}

void Fields::Read(std::string_view name, int32_t& out) {
  int64_t wide = 0;
  if (ReadInteger(name, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), wide)) {
    out = static_cast<int32_t>(wide);
  }
}

void Fields::Read(std::string_view name, int64_t& out) {
  ReadInteger(name, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), out);
}

void Fields::Read(std::string_view name, std::optional<int32_t>& out) {
  int64_t wide = 0;
  if (ReadInteger(name, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), wide)) {
    out = static_cast<int32_t>(wide);
  }
}

std::optional<Quantity> Fields::ReadQuantity(const json::Value& value, std::string path) {
  if (!value.IsString() && !value.IsNumber()) {
    problems_.Add(std::move(path), FoundText(value), kQuantityAllowed);
    return std::nullopt;
  }
  auto quantity = Quantity::Parse(value.IsString() ? value.AsString() : NumberText(value));
  if (quantity) return *quantity;
  const auto& fields = quantity.error().fields;
  problems_.Add(std::move(path), FoundText(value),
                fields.empty() ? kQuantityAllowed : fields.front().allowed);
  return std::nullopt;
}

void Fields::Read(std::string_view name, Quantity& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (auto quantity = ReadQuantity(*value, Path(name))) out = *quantity;
}

void Fields::Read(std::string_view name, std::optional<Quantity>& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (auto quantity = ReadQuantity(*value, Path(name))) out = *quantity;
}

void Fields::ReadPositive(std::string_view name, Quantity& out, std::string_view allowed) {
  std::optional<Quantity> written;
  Read(name, written);
  if (!written) return;
  if (written->IsZero()) problems_.Add(Path(name), "0", std::string(allowed));
  out = *written;
}

void Fields::Read(std::string_view name, std::optional<Time>& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  out = value->IsString() ? ParseTime(value->AsString()) : std::nullopt;
  if (!out) AddProblem(name, *value, "a time such as 2026-03-04T06:02:07Z");
}

void Fields::Read(std::string_view name, ResourceList& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (!value->IsObject() || value->AsObject().size() > kMaxList) {
    AddProblem(name, *value, "resource names with quantities, such as {cpu: 8, memory: 32Gi}");
    return;
  }
  for (const auto& [key, amount] : value->AsObject()) {
    if (amount.IsNull()) continue;
    if (auto quantity = ReadQuantity(amount, Path(name) + "[" + key + "]")) out[key] = *quantity;
  }
}

void Fields::Read(std::string_view name, StringMap& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  ReadPairs(name, pairs);
  for (auto& [key, text] : pairs) out[key] = std::move(text);
}

void Fields::ReadPairs(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (!value->IsObject() || value->AsObject().size() > kMaxList) {
    AddProblem(name, *value, "names with texts, such as {team: nlp}");
    return;
  }
  for (const auto& [key, text] : value->AsObject()) {
    if (text.IsString()) {
      out.emplace_back(key, text.AsString());
    } else {
      problems_.Add(Path(name) + "[" + key + "]", FoundText(text), "a string; put it in quotes");
    }
  }
}

void Fields::Read(std::string_view name, std::vector<std::string>& out) {
  const json::Array* list = TakeList(name, kMaxList);
  if (list == nullptr) return;
  for (size_t i = 0; i < list->size(); ++i) {
    const json::Value& item = (*list)[i];
    if (item.IsString()) {
      out.push_back(item.AsString());
    } else {
      problems_.Add(Path(name) + "[" + std::to_string(i) + "]", FoundText(item),
                    "a string; put it in quotes");
    }
  }
}

void Fields::Read(std::string_view name, std::optional<GpuRequest>& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  if (!value->IsString() && !value->IsNumber()) {
    AddProblem(name, *value, "cards such as 2, \"2(A100)\", \"2(nvidia,A100)\" or 0.5");
    return;
  }
  auto gpu = ParseGpu(value->IsString() ? value->AsString() : NumberText(*value));
  if (gpu) {
    out = *gpu;
  } else {
    AddProblem(name, *value, gpu.error().fields.front().allowed);
  }
}

void Fields::ReadNumberText(std::string_view name, int64_t& out) {
  const json::Value* value = Take(name);
  if (value == nullptr) return;
  const std::string text = FoundText(*value);
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size() && number >= 0) {
    out = number;
  } else {
    AddProblem(name, *value, "a number that this server gave");
  }
}

}  // namespace cubeplane::model
