#include "model/reasons.h"

#include <algorithm>

#include "model/fields.h"
#include "model/table_reader.h"
#include "model/tables.h"

namespace cubeplane::model {
namespace {

constexpr char kFile[] = "api/reasons.yaml";
constexpr std::string_view kUnknown = "—";  // stands for a parameter that was not given

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct NextTexts {
  std::string en, zh;
};

void ReadNext(Fields& fields, NextTexts& next) {
  fields.Read("en", next.en);
  fields.Read("zh", next.zh);
}

void ReadRow(Fields& fields, ReasonRow& row) {
  NextTexts next;
  fields.Read("code", row.code);
  fields.Read("params", row.params);
  fields.Read("en", row.en);
  fields.Read("zh", row.zh);
  fields.ReadObject<NextTexts>("next", next, ReadNext);
  row.next_en = std::move(next.en);
  row.next_zh = std::move(next.zh);
}

std::vector<ReasonRow> ReadRows() {
  const json::Value table(json::Object{{"rows", ReadTable(kFile, kReasonsYaml)}});
  std::vector<ReasonRow> rows;
  Problems problems;
  {
    Fields fields(table, "", problems);
    fields.ReadList<ReasonRow>("rows", rows, Fields::kMaxList, ReadRow);
  }
  CheckTable(kFile, problems);
  std::sort(rows.begin(), rows.end(), [](const ReasonRow& a, const ReasonRow& b) { return a.code < b.code; });
  return rows;
}

const ReasonRow* FindRow(std::string_view code) {
  const auto& rows = ReasonTable();
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), code,
                       [](const ReasonRow& each, std::string_view wanted) { return each.code < wanted; });
  return row != rows.end() && row->code == code ? &*row : nullptr;
}

// What stands between braces: "n" or "n|core|cores".
struct Slot {
  std::string_view name, one, many;
  bool plural = false;
};

std::optional<Slot> ReadSlot(std::string_view inside) {
  Slot slot;
  const size_t first = inside.find('|');
  slot.name = inside.substr(0, first);
  if (slot.name.empty()) return std::nullopt;
  for (char c : slot.name) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') return std::nullopt;
  }
  if (first == std::string_view::npos) return slot;
  const size_t second = inside.find('|', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  slot.plural = true;
  slot.one = inside.substr(first + 1, second - first - 1);
  slot.many = inside.substr(second + 1);
  return slot;
}

// Walks over a text: calls `literal` and `slot` for its parts; false when the braces are malformed.
template <class Literal, class OnSlot>
bool Walk(std::string_view text, Literal literal, OnSlot on_slot) {
  while (!text.empty()) {
    const size_t open = text.find_first_of("{}");
    literal(text.substr(0, open));
    if (open == std::string_view::npos) return true;
    const size_t close = text.find('}', open);
    if (text[open] == '}' || close == std::string_view::npos) return false;
    const auto slot = ReadSlot(text.substr(open + 1, close - open - 1));
    if (!slot) return false;
    on_slot(*slot);
    text.remove_prefix(close + 1);
  }
  return true;
}

std::string Fill(std::string_view text, const Pairs& params) {
  std::string filled;
  Walk(
      text, [&](std::string_view literal) { filled += literal; },
      [&](const Slot& slot) {
        std::string_view value = kUnknown;
        for (const auto& [name, given] : params) {
          if (name == slot.name) value = given;
        }
        filled += !slot.plural ? value : value == "1" ? slot.one : slot.many;
      });
  return filled;
}

std::string Plain(std::string_view code, const Pairs& params) {
  std::string text(code);
  for (size_t i = 0; i < params.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + params[i].first + "=" + params[i].second;
  }
  return params.empty() ? text : text + ")";
}

}  // namespace

Language ParseLanguage(std::string_view accept_language_or_locale) {
  std::string_view first = accept_language_or_locale.substr(0, accept_language_or_locale.find(','));
  while (!first.empty() && first.front() == ' ') first.remove_prefix(1);
  const bool zh = first.size() >= 2 && (first[0] == 'z' || first[0] == 'Z') &&
                  (first[1] == 'h' || first[1] == 'H') &&
                  (first.size() == 2 || std::string_view("-_.;@").find(first[2]) != std::string_view::npos);
  return zh ? Language::kZh : Language::kEn;
}

std::string Render(std::string_view code, const Pairs& params, Language language) {
  const ReasonRow* row = FindRow(code);
  if (row == nullptr) return Plain(code, params);
  return Fill(language == Language::kZh ? row->zh : row->en, params);
}

std::string RenderNext(std::string_view code, const Pairs& params, Language language) {
  const ReasonRow* row = FindRow(code);
  if (row == nullptr) return "";
  return Fill(language == Language::kZh ? row->next_zh : row->next_en, params);
}

bool HasReason(std::string_view code) { return FindRow(code) != nullptr; }

const std::vector<ReasonRow>& ReasonTable() {
  static const std::vector<ReasonRow> rows = ReadRows();
  return rows;
}

std::optional<std::vector<std::string>> TemplateParams(std::string_view text) {
  std::vector<std::string> names;
  const bool good =
      Walk(text, [](std::string_view) {}, [&](const Slot& slot) { names.emplace_back(slot.name); });
  if (!good) return std::nullopt;
  return names;
}

}  // namespace cubeplane::model
