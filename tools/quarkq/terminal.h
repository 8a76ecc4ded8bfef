// SPDX-License-Identifier: MIT
// Text that fits a terminal.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace quarkq::tool {

/// Columns of the terminal that `stream` writes to; 0 when it is none.
size_t columns_of(std::FILE* stream);

/// Characters, not bytes: text may be UTF-8.
size_t width_of(const std::string& text);

/// Lines of at most `columns` characters, broken between words; a word that is longer stays whole. Lines after the
/// first begin with `indent` spaces. 0 columns: the text as it is.
std::string wrapped(const std::string& text, size_t columns, size_t indent);

/// The same for help: descriptions stay in their column.
std::string wrapped_help(const std::string& text, size_t columns);

/// The column of descriptions in help for a terminal of so many columns.
size_t help_column(size_t columns);

/// std::printf() to stdout. Texts among the arguments become printable(): only `format` breaks lines. Supports the
/// conversions s, c, d, u and those of double, without '*'.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Prints a text of several lines that the program itself has put together from printable() parts.
void print_lines(const std::string& text);

/// "label      text", wrapped as stdout needs it.
void print_line(const std::string& line);

/// Tables on stdout: aligned columns under a header.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  /// `separator` stands between two columns.
  explicit Table(std::vector<Column> columns, std::string separator = "  ");
  /// REQUIRES: a cell per column.
  void add(std::vector<std::string> row);
  void print() const;
  /// On a terminal that is too narrow, the widest texts are shortened.
  void print_fitting();

 private:
  std::vector<size_t> widths_of_columns() const;

  std::vector<Column> columns_;
  std::string separator_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr auto kRight = Table::Align::kRight;

/// "3 x Conv, 1 x Relu".
std::string counts_text(const std::map<std::string, int>& counts);
/// The shortest decimal that reads back as the float32 `value`.
std::string shortest(double value);
/// `value` with four significant digits: "0.001234", "1.5e-07", "nan".
std::string significant(double value);
/// `value` with so many decimals; "nan", "inf", "-inf".
std::string fixed(double value, int decimals);

}  // namespace quarkq::tool
