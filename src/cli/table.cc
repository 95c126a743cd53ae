#include "cli/table.h"

#include <algorithm>

#include "cli/width.h"

namespace cubeplane::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kFieldWidth = 11;
constexpr size_t kLeastCut = 10;  // a column cut below this says nothing

}  // namespace

void Table::Print(Terminal& terminal, bool with_header) const {
  std::vector<size_t> widths;
  for (const std::string& title : header_) widths.push_back(with_header ? DisplayWidth(title) : 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
  }
  size_t before_last = 0;
  for (size_t i = 0; i + 1 < widths.size(); ++i) before_last += widths[i] + kGap;
  const bool cut = terminal.out_is_tty && terminal.columns >= before_last + kLeastCut;

  const auto print = [&](const std::vector<Cell>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      std::string text = Printable(row[i].text);
      if (last && cut) text = CutTo(text, terminal.columns - before_last);
      const size_t width = DisplayWidth(text);
      terminal.out << Paint(terminal, row[i].colour, text);
      if (!last) terminal.out << std::string(widths[i] + kGap - std::min(width, widths[i]), ' ');
    }
    terminal.out << '\n';
  };
  if (with_header) print(std::vector<Cell>(header_.begin(), header_.end()));
  for (const auto& row : rows_) print(row);
}

void PrintField(Terminal& terminal, std::string_view word, std::string_view text) {
  terminal.out << PadTo(word, kFieldWidth);
  bool first = true;
  while (first || !text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!first) terminal.out << std::string(kFieldWidth, ' ');
    terminal.out << Printable(text.substr(0, end)) << '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    first = false;
  }
}

}  // namespace cubeplane::cli
