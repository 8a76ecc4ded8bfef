// SPDX-License-Identifier: MIT
// Tables on stdout: aligned columns under a header.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quarkq::tool {

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
