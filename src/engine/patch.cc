#include "engine/patch.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cubeplane::engine {
namespace {

ApiError Unprocessable(std::string message) { return {422, "Invalid", std::move(message)}; }

std::vector<std::string> Pointer(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    text.remove_prefix(1);
    const size_t slash = text.find('/');
    std::string part;
    const std::string_view raw = text.substr(0, slash);
    for (size_t i = 0; i < raw.size(); ++i) {
      const bool escape = raw[i] == '~' && i + 1 < raw.size();
      if (escape) ++i;
      part += escape ? (raw[i] == '1' ? '/' : '~') : raw[i];
    }
    parts.push_back(std::move(part));
    text = slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  }
  return parts;
}

std::optional<size_t> Index(const std::string& text, size_t size, bool end_allowed) {
  if (text == "-" && end_allowed) return size;
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (index > size || (index == size && !end_allowed)) return std::nullopt;
  return index;
}

json::Value* Step(json::Value& at, const std::string& part) {
  if (at.IsObject()) return at.MakeObject().Find(part);
  if (!at.IsArray()) return nullptr;
  const auto index = Index(part, at.AsArray().size(), false);
  return index ? &at.MakeArray()[*index] : nullptr;
}

json::Value* Find(json::Value& root, const std::vector<std::string>& parts, size_t count) {
  json::Value* at = &root;
  for (size_t i = 0; i < count && at != nullptr; ++i) at = Step(*at, parts[i]);
  return at;
}

Answer<void> Add(json::Value& root, const std::string& path, json::Value value) {
  const auto parts = Pointer(path);
  if (parts.empty()) {
    root = std::move(value);
    return {};
  }
  json::Value* parent = Find(root, parts, parts.size() - 1);
  if (parent != nullptr && parent->IsObject()) {
    parent->Set(parts.back(), std::move(value));
    return {};
  }
  if (parent != nullptr && parent->IsArray()) {
    auto& list = parent->MakeArray();
    if (const auto index = Index(parts.back(), list.size(), true)) {
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
      return {};
    }
  }
  return Refuse(
      Unprocessable("the server rejected our request due to an error in our request: add operation does not "
                    "apply: doc is missing path: \"" +
                    path + "\": missing value"));
}

Answer<json::Value> Remove(json::Value& root, const std::string& path) {
  const auto parts = Pointer(path);
  json::Value* parent = parts.empty() ? nullptr : Find(root, parts, parts.size() - 1);
  json::Value* found = parent == nullptr ? nullptr : Step(*parent, parts.back());
  if (found == nullptr) {
    return Refuse(
        Unprocessable("the server rejected our request due to an error in our request: remove operation does "
                      "not apply: doc is missing path: \"" +
                      path + "\": missing value"));
  }
  json::Value taken = std::move(*found);
  if (parent->IsObject()) {
    parent->Erase(parts.back());
  } else {
    auto& list = parent->MakeArray();
    list.erase(list.begin() + (found - list.data()));
  }
  return taken;
}

Answer<void> ApplyOperation(json::Value& root, const json::Value& operation) {
  const std::string& op = operation["op"].AsString();
  const std::string& path = operation["path"].AsString();
  if (!operation["path"].IsString() || (!path.empty() && path[0] != '/')) {
    return Refuse(BadRequest("JSON patch: every operation needs a `path` that is empty or starts with '/'"));
  }
  if (op == "add") return Add(root, path, operation["value"]);
  if (op == "remove") {
    RETURN_IF_ERROR(Remove(root, path));
    return {};
  }
  const auto parts = Pointer(path);
  if (op == "replace" || op == "test") {
    json::Value* found = Find(root, parts, parts.size());
    if (op == "test" && (found == nullptr ? !operation["value"].IsNull() : *found != operation["value"])) {
      return Refuse(
          Unprocessable("the server rejected our request due to an error in our request: testing value " +
                        path + " failed: test failed"));
    }
    if (op == "test") return {};
    if (found == nullptr)
      return Refuse(
          Unprocessable("replace operation does not apply: doc is missing key: " + path + ": missing value"));
    *found = operation["value"];
    return {};
  }
  if (op == "move" || op == "copy") {
    const auto from = Pointer(operation["from"].AsString());
    json::Value* found = Find(root, from, from.size());
    if (found == nullptr)
      return Refuse(Unprocessable(
          op + " operation does not apply: doc is missing from path: " + operation["from"].AsString()));
    json::Value value = *found;
    if (op == "move") RETURN_IF_ERROR(Remove(root, operation["from"].AsString()));
    return Add(root, path, std::move(value));
  }
  return Refuse(BadRequest("JSON patch: unexpected kind: " + op +
                           "; allowed are add, remove, replace, move, copy and test"));
}

Answer<json::Value> MergeList(json::Value target, const json::Value& patch, std::string_view key) {
  auto& list = target.MakeArray();
  for (const json::Value& entry : patch.AsArray()) {
    if (entry["$patch"].AsString() == "replace") {
      list.clear();
      continue;
    }
    const json::Value& id = entry[key];
    if (id.IsNull())
      return Refuse(BadRequest("map: " + std::string(entry.TypeName()) +
                               " does not contain declared merge key: " + std::string(key)));
    auto found = std::ranges::find_if(list, [&](const json::Value& have) { return have[key] == id; });
    if (entry["$patch"].AsString() == "delete") {
      if (found != list.end()) list.erase(found);
      continue;
    }
    ASSIGN_OR_RETURN(json::Value merged,
                     StrategicMergePatch(found == list.end() ? json::Value(json::Object{}) : *found, entry));
    if (found == list.end()) {
      list.push_back(std::move(merged));
    } else {
      *found = std::move(merged);
    }
  }
  return target;
}

Answer<void> ApplyDirective(json::Object& object, const std::string& key, const json::Value& value) {
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  if (key.starts_with(kDelete)) {
    auto& list = object[key.substr(kDelete.size())].MakeArray();
    std::erase_if(list, [&](const json::Value& have) {
      return std::ranges::find(value.AsArray(), have) != value.AsArray().end();
    });
    return {};
  }
  if (key == "$patch" || key.starts_with("$setElementOrder/") || key == "$retainKeys") return {};
  return Refuse(BadRequest("strategic merge patch: unknown directive " + key));
}

}  // namespace

json::Value MergePatch(json::Value target, const json::Value& patch) {
  if (!patch.IsObject()) return patch;
  auto& object = target.MakeObject();
  for (const auto& [key, value] : patch.AsObject()) {
    if (value.IsNull()) {
      object.Erase(key);
    } else {
      object.Set(key, MergePatch(object[key], value));
    }
  }
  return target;
}

Answer<json::Value> JsonPatch(json::Value target, const json::Value& patch) {
  if (!patch.IsArray())
    return Refuse(BadRequest("a JSON patch is a list of operations; found " + std::string(patch.TypeName())));
  if (patch.AsArray().size() > kMaxPatchOperations) {
    return Refuse({413, "RequestEntityTooLarge",
                   "The allowed maximum operations in a JSON patch is " +
                       std::to_string(kMaxPatchOperations) + ", got " +
                       std::to_string(patch.AsArray().size())});
  }
  for (const json::Value& operation : patch.AsArray()) RETURN_IF_ERROR(ApplyOperation(target, operation));
  return target;
}

std::string_view MergeKeyOf(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"containers", "name"},
      {"initContainers", "name"},
      {"ephemeralContainers", "name"},
      {"env", "name"},
      {"volumes", "name"},
      {"volumeMounts", "mountPath"},
      {"volumeDevices", "devicePath"},
      {"imagePullSecrets", "name"},
      {"hostAliases", "ip"},
      {"topologySpreadConstraints", "topologyKey"},
      {"conditions", "type"},
      {"ownerReferences", "uid"},
      {"taints", "key"},
      {"addresses", "type"},
      {"secrets", "name"},
      {"resourceClaims", "name"},
  };
  for (const auto& [name, key] : kKeys) {
    if (name == field) return key;
  }
  return "";
}

namespace {

// `ports` merges by containerPort in a container and by port in a Service.
std::string_view PortsKey(const json::Value& patch) {
  for (const json::Value& port : patch.AsArray())
    return port.Contains("containerPort") ? "containerPort" : "port";
  return "";
}

}  // namespace

Answer<json::Value> StrategicMergePatch(json::Value target, const json::Value& patch) {
  if (!patch.IsObject()) return patch;
  if (patch["$patch"].AsString() == "replace") {
    json::Value whole = patch;
    whole.Erase("$patch");
    return whole;
  }
  auto& object = target.MakeObject();
  for (const auto& [key, value] : patch.AsObject()) {
    const std::string_view merge_key = key == "ports" ? PortsKey(value) : MergeKeyOf(key);
    if (key.starts_with('$')) {
      RETURN_IF_ERROR(ApplyDirective(object, key, value));
    } else if (value.IsNull() || value["$patch"].AsString() == "delete") {
      object.Erase(key);
    } else if (value.IsArray() && key == "finalizers") {
      auto& list = object[key].MakeArray();
      for (const json::Value& entry : value.AsArray()) {
        if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
      }
    } else if (value.IsArray() && !merge_key.empty()) {
      ASSIGN_OR_RETURN(json::Value merged, MergeList(object[key], value, merge_key));
      object.Set(key, std::move(merged));
    } else {
      ASSIGN_OR_RETURN(json::Value merged, StrategicMergePatch(object[key], value));
      object.Set(key, std::move(merged));
    }
  }
  return target;
}

}  // namespace cubeplane::engine
