// YAML into Values through yaml-cpp's events, so that limits hold while it is read and errors have a place.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "json/builder.h"
#include "json/json.h"
#include "json/text.h"

namespace cubeplane::json {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

// Ends the reading from inside an event; caught in ParseYaml.
struct Refused {
  Error error;
};

Error YamlError(Code code, size_t line, size_t column, const std::string& what) {
  Error error(code,
              "YAML at line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what);
  error.params = {{"line", std::to_string(line)}, {"column", std::to_string(column)}};
  return error;
}

[[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& what, Code code = Code::kBadRequest) {
  throw Refused{
      YamlError(code, static_cast<size_t>(mark.line) + 1, static_cast<size_t>(mark.column) + 1, what)};
}

class Events final : public YAML::EventHandler {
 public:
  Events(std::string_view text, const Limits& limits) : text_(text), builder_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp takes what is left over after a value for one more document.
    if (!std::exchange(first_, false) &&
        !text_.substr(std::min(text_.size(), static_cast<size_t>(mark.pos))).starts_with("---")) {
      Refuse(mark, "text after the end of the document; a new one begins with ---");
    }
    anchors_.clear();
    open_.clear();
    seen_ = empty_ = false;
  }
  void OnDocumentEnd() override {
    if (seen_ && !empty_) documents.push_back(builder_.Take());
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    empty_ = builder_.depth() == 0;
    Scalar(mark, anchor, "", Value());
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (tag == "!" || (tag == "?" && builder_.key_is_next())) return Scalar(mark, anchor, text, text);
    const std::string_view kind = tag == "?" ? std::string_view() : CoreKind(mark, tag);
    if (kind == "str") return Scalar(mark, anchor, text, text);
    const std::optional<Value> typed = TypePlainScalar(text);
    if (!typed) Refuse(mark, "\"" + text.substr(0, 80) + "\" is no number that JSON can hold");
    if (!kind.empty() && !Fits(kind, *typed)) {
      Refuse(mark, "\"" + text.substr(0, 80) + "\" does not fit its tag !!" + std::string(kind));
    }
    Scalar(mark, anchor, text, *typed);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "an alias inside the value that it names");
    if (builder_.key_is_next()) Refuse(mark, "a key must be plain text, not an alias");
    seen_ = true;
    Check(mark, builder_.Add(found->second.value, found->second.nodes, found->second.depth));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    StartCollection(mark, tag, "seq", anchor);
    Check(mark, builder_.OpenArray());
  }
  void OnSequenceEnd() override { EndCollection(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    StartCollection(mark, tag, "map", anchor);
    Check(mark, builder_.OpenObject());
  }
  void OnMapEnd() override { EndCollection(); }

  std::vector<Value> documents;

 private:
  struct Anchored {
    Value value;
    size_t nodes = 1;
    size_t depth = 1;
  };
  // An array or object whose end has not come.
  struct Open {
    YAML::anchor_t anchor;
    size_t nodes_before;
  };

  void Check(const YAML::Mark& mark, bool fine) {
    if (!fine) Refuse(mark, builder_.problem(), builder_.too_large() ? Code::kTooLarge : Code::kBadRequest);
  }

  static std::string_view CoreKind(const YAML::Mark& mark, const std::string& tag) {
    const std::string_view kind =
        tag.starts_with(kCoreTag) ? std::string_view(tag).substr(kCoreTag.size()) : std::string_view();
    for (const std::string_view known : {"str", "int", "float", "bool", "null", "seq", "map"}) {
      if (kind == known) return kind;
    }
    Refuse(mark, "the tag \"" + tag.substr(0, 80) + "\" is not allowed; only those of the core schema are");
  }

  static bool Fits(std::string_view kind, const Value& value) {
    if (kind == "int") return value.IsInt();
    if (kind == "float") return value.IsNumber();
    if (kind == "bool") return value.IsBool();
    return kind == "null" && value.IsNull();
  }

  void Scalar(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text, Value value) {
    seen_ = true;
    if (builder_.key_is_next()) {
      if (value.IsNull() && text.empty()) Refuse(mark, "an empty key");
      if (anchor != 0) Refuse(mark, "a key must not have an anchor");
      return Check(mark, builder_.Key(text));
    }
    if (anchor != 0) anchors_[anchor] = {.value = value};
    Check(mark, builder_.Add(std::move(value)));
  }

  void StartCollection(const YAML::Mark& mark, const std::string& tag, std::string_view kind,
                       YAML::anchor_t anchor) {
    if (tag != "?" && tag != "!" && !tag.empty() && CoreKind(mark, tag) != kind) {
      Refuse(mark, "the tag \"" + tag.substr(0, 80) + "\" does not fit");
    }
    if (builder_.key_is_next()) Refuse(mark, "a key must be plain text, not a list or an object");
    seen_ = true;
    open_.push_back({.anchor = anchor, .nodes_before = builder_.nodes()});
  }

  void EndCollection() {
    const Open open = open_.back();
    open_.pop_back();
    builder_.Close();
    if (open.anchor == 0) return;
    anchors_[open.anchor] = {.value = builder_.last(),
                             .nodes = builder_.nodes() - open.nodes_before,
                             .depth = DepthOf(builder_.last())};
  }

  static size_t DepthOf(const Value& value) {
    size_t deepest = 0;
    for (const Value& item : value.AsArray()) deepest = std::max(deepest, DepthOf(item));
    for (const auto& [key, item] : value.AsObject()) deepest = std::max(deepest, DepthOf(item));
    return deepest + 1;
  }

  const std::string_view text_;
  Builder builder_;
  bool first_ = true;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::vector<Open> open_;
  bool seen_ = false;
  bool empty_ = false;
};

// yaml-cpp takes NUL and EOT for the end of the text and repairs bad UTF-8 in silence; YAML allows neither.
Result<> CheckBytes(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      const Place place = PlaceOf(text, at);
      return Fail(YamlError(Code::kBadRequest, place.line, place.column,
                            "the control character " + std::to_string(c) + " is not allowed"));
    }
  }
  const size_t bad = FindInvalidUtf8(text);
  if (bad == std::string_view::npos) return {};
  const Place place = PlaceOf(text, bad);
  return Fail(YamlError(Code::kBadRequest, place.line, place.column, "the text is not UTF-8"));
}

}  // namespace

Result<std::vector<Value>> ParseYaml(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return Fail(Code::kTooLarge, "YAML of " + std::to_string(text.size()) + " bytes; at most " +
                                     std::to_string(limits.max_bytes) + " are read");
  }
  RETURN_IF_ERROR(CheckBytes(text));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  Events events(text, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Refused& refused) {
    return Fail(refused.error);
  } catch (const YAML::Exception& exception) {
    return Fail(YamlError(Code::kBadRequest, static_cast<size_t>(exception.mark.line) + 1,
                          static_cast<size_t>(exception.mark.column) + 1, exception.msg));
  }
  return std::move(events.documents);
}

}  // namespace cubeplane::json
