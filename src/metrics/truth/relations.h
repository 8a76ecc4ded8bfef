// SPDX-License-Identifier: MIT
// Statements about rows of results, from a text file with one per line: pairs of rows with a score ("a,b,4.5"), and
// rows with the first and the last position of a span ("a,3,7"). A row is one embedding, or the logits of one text.
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
  /// Adds the rows of the sample called `name`. Rows are numbered from 0 in the order of the calls.
  void add(const std::string& name, size_t rows);
  /// Returns the number of rows of all samples.
  size_t size() const { return samples_.size(); }
  /// Returns the number of samples, and the sample of a row, counted from 0 as they were added.
  size_t samples() const { return count_; }
  size_t sample_of(size_t row) const { return samples_[row]; }
  /// Returns the row that `text` refers to: the name of a sample with one row (also without folders and suffix), or
  /// the number of a row, from 0. Fails with kBadData, naming `place`, if there is none or the sample has several
  /// rows.
  Result<size_t> find(const std::string& text, const std::string& place) const;

 private:
  std::map<std::string, std::optional<size_t>> by_name_;  ///< Absent: several rows have the name.
  std::vector<size_t> samples_;                           ///< One per row.
  size_t count_ = 0;
};

/// A line of a truth file: one or two rows and numbers.
struct Relation {
  std::vector<std::string> rows;  ///< References in a form that RowNames::find() takes.
  std::vector<double> numbers;
  std::string place;  ///< "pairs.csv:3", for messages.
};

struct RelationForm {
  size_t rows = 2;                      ///< References at the start of a line.
  size_t numbers = 1;                   ///< Numbers that follow; 0: one may follow, and a missing number is 1.
  const char* allowed = "a,b,score";    ///< A line, for messages.
  double least = -1e100, most = 1e100;  ///< Allowed numbers. The defaults are finite when squared and added.
};
/// Reads lines of cells between commas. A first line is a header if its first number is a word other than NaN and
/// infinity. Fails with kBadData naming the line.
Result<std::vector<Relation>> read_relations(const std::string& path, const RelationForm& form);

}  // namespace quarkq::metrics
