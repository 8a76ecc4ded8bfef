// SPDX-License-Identifier: MIT
// Tables on stdout: aligned columns under a header.
#pragma once

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

 private:
  std::vector<Column> columns_;
  std::string separator_;
  std::vector<std::vector<std::string>> rows_;
};

/// The shortest decimal that reads back as the float32 `value`.
std::string shortest(double value);
/// `value` with so many decimals; "nan", "inf", "-inf".
std::string fixed(double value, int decimals);

}  // namespace quarkq::tool
