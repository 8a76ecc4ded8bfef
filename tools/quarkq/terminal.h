// SPDX-License-Identifier: MIT
// Text layout for terminals.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace quarkq::tool {

/// Returns the columns of the terminal that `stream` writes to; 0 if it is not a terminal.
size_t columns_of(std::FILE* stream);

/// Returns the number of characters, not bytes: the text may be UTF-8.
size_t width_of(const std::string& text);

/// Returns lines of at most `columns` characters, broken between words. A longer word is not broken. Lines after the
/// first begin with `indent` spaces. With 0 columns the text is unchanged.
std::string wrapped(const std::string& text, size_t columns, size_t indent);

/// Wraps help text: descriptions stay in their column.
std::string wrapped_help(const std::string& text, size_t columns);

/// Returns the column of descriptions in help for a terminal of this width.
size_t help_column(size_t columns);

/// Calls std::printf() for stdout. Text arguments are escaped by printable(): only `format` breaks lines. Supports the
/// conversions s, c, d, u and the conversions of double, without '*'.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Prints a text of several lines that the program built from printable() parts.
void print_lines(const std::string& text);

/// Prints "label      text", wrapped for stdout.
void print_line(const std::string& line);

/// Tables on stdout: aligned columns with a header.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  /// `separator` is printed between two columns.
  explicit Table(std::vector<Column> columns, std::string separator = "  ");
  /// REQUIRES: one cell per column.
  void add(std::vector<std::string> row);
  void print() const;
  /// Prints the table. On a narrow terminal the widest texts are shortened.
  void print_fitting();

 private:
  std::vector<size_t> widths_of_columns() const;

  std::vector<Column> columns_;
  std::string separator_;
  std::vector<std::vector<std::string>> rows_;
};

inline constexpr auto kRight = Table::Align::kRight;

/// Returns "3 x Conv, 1 x Relu".
std::string counts_text(const std::map<std::string, int>& counts);
/// Returns the shortest decimal that reads back as the float32 `value`.
std::string shortest(double value);
/// Returns `value` with four significant digits: "0.001234", "1.5e-07", "nan".
std::string significant(double value);
/// Returns `value` with this number of decimals; "nan", "inf", "-inf".
std::string fixed(double value, int decimals);

}  // namespace quarkq::tool
