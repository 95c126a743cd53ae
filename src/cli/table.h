// Tables as kubectl prints them: columns padded by display width, two blanks between them.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace cubeplane::cli {

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
  Cell(std::string text, Colour colour = Colour::kNone) : text(std::move(text)), colour(colour) {}
  Cell(const char* text) : text(text) {}
};

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // On a terminal the last column is cut to its width; elsewhere nothing is.
  void Print(Terminal& terminal, bool with_header = true) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

// "Why      bj1: …": a word in a column of its own, and the text, with further lines indented to it.
void PrintField(Terminal& terminal, std::string_view word, std::string_view text);

}  // namespace cubeplane::cli
