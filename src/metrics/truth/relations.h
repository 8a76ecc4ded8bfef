// SPDX-License-Identifier: MIT
// Statements about rows of results: pairs with a score, and spans of positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::metrics {

/// Places of rows of results, in their order and by the name of their sample. A sample may have several rows.
class RowNames {
 public:
  /// Adds the rows of the sample called `name`.
  void add(const std::string& name, size_t rows);
  size_t size() const { return rows_; }
  /// Returns the row that `text` refers to: the name of a sample with one row (also without folders and suffix), or
  /// the number of a row, from 0. Fails with kBadData, naming `place`.
  Result<size_t> find(const std::string& text, const std::string& place) const;

 private:
  std::map<std::string, std::optional<size_t>> by_name_;  ///< Absent: several rows have the name.
  size_t rows_ = 0;
};

/// A line of a truth file: one or two rows and numbers.
struct Relation {
  std::vector<std::string> rows;
  std::vector<double> numbers;
  std::string place;  ///< "pairs.csv:3", for messages.
};

/// Reads lines of cells between commas: `rows` references and then at least `numbers` numbers; missing numbers are 1 if
/// `numbers` is 0. A first line whose last cell is not a number is a header. `allowed` describes a line in messages.
/// Fails with kBadData naming the line.
struct RelationForm {
  size_t rows = 2, numbers = 1;
  const char* allowed = "a,b,score";
};
Result<std::vector<Relation>> read_relations(const std::string& path, const RelationForm& form);

}  // namespace quarkq::metrics
