// Reads the members of one JSON object and notes whatever is wrong in `Problems`: wrong types, bad
// quantities, and, at the end, members that nobody asked for. Internal to model's codec.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/quantity.h"
#include "model/objects.h"
#include "model/problems.h"

namespace cubeplane::model {

class Fields {
 public:
  // `value` and `problems` must outlive this. A null value counts as an empty object; anything but an object
  // is a problem.
  Fields(const json::Value& value, std::string path, Problems& problems);
  // Notes the members that were not asked for.
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  // Each reads a member if it is there and not null, and leaves `out` alone otherwise.
  void Read(std::string_view name, std::string& out);
  void Read(std::string_view name, bool& out);
  void Read(std::string_view name, int32_t& out);
  void Read(std::string_view name, int64_t& out);
  void Read(std::string_view name, std::optional<int32_t>& out);
  void Read(std::string_view name, Quantity& out);
  void Read(std::string_view name, std::optional<Quantity>& out);
  void Read(std::string_view name, std::optional<Time>& out);
  void Read(std::string_view name, ResourceList& out);
  void Read(std::string_view name, StringMap& out);
  void Read(std::string_view name, std::vector<std::string>& out);
  void Read(std::string_view name, std::optional<GpuRequest>& out);
  // As Read, but a written-out 0 is a problem: it is not the same as leaving the member out.
  void ReadPositive(std::string_view name, Quantity& out, std::string_view allowed);
  // A number written as a string, as Kubernetes writes resourceVersion.
  void ReadNumberText(std::string_view name, int64_t& out);
  // Any members, in their order, texts only (the parameters of a reason).
  void ReadPairs(std::string_view name, std::vector<std::pair<std::string, std::string>>& out);

  // One of a few words; `parse` gives nullopt for others, which are listed in `allowed`.
  template <class T>
  void ReadEnum(std::string_view name, T& out, const std::function<std::optional<T>(std::string_view)>& parse,
                const std::vector<std::string_view>& allowed) {
    const json::Value* value = Take(name);
    if (value == nullptr) return;
    if (auto parsed = parse(value->AsString()); value->IsString() && parsed) {
      out = *parsed;
    } else {
      AddWord(name, *value, allowed);
    }
  }
  // `read(fields, item)` for each object of a list, at most `max` of them.
  template <class T>
  void ReadList(std::string_view name, std::vector<T>& out, size_t max, void (*read)(Fields&, T&)) {
    const json::Array* list = TakeList(name, max);
    if (list == nullptr) return;
    for (size_t i = 0; i < list->size(); ++i) {
      Fields item((*list)[i], Path(name) + "[" + std::to_string(i) + "]", problems_);
      read(item, out.emplace_back());
    }
  }
  template <class T>
  void ReadObject(std::string_view name, T& out, void (*read)(Fields&, T&)) {
    const json::Value* value = Take(name);
    if (value == nullptr) return;
    Fields item(*value, Path(name), problems_);
    read(item, out);
  }

  // The member, null when absent or null; from now on it is known.
  const json::Value* Take(std::string_view name);
  // Known, but not read.
  void Ignore(std::string_view name) { Take(name); }
  std::string Path(std::string_view name) const;
  void AddProblem(std::string_view name, const json::Value& found, std::string allowed);

  static constexpr size_t kMaxList = 1000;

 private:
  const json::Array* TakeList(std::string_view name, size_t max);
  bool ReadInteger(std::string_view name, int64_t min, int64_t max, int64_t& out);
  std::optional<Quantity> ReadQuantity(const json::Value& value, std::string path);
  void AddWord(std::string_view name, const json::Value& found, const std::vector<std::string_view>& allowed);

  const json::Object* object_ = nullptr;  // null when there is nothing to read
  std::string path_;
  Problems& problems_;
  std::vector<std::string_view> known_;
};

}  // namespace cubeplane::model
