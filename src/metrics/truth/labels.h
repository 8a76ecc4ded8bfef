// SPDX-License-Identifier: MIT
// Labels of results: which class each of them should have scored highest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

/// Texts of samples: what a text recognizer should read.
class Texts {
 public:
  /// Lines "name<TAB>text" or, without a TAB, "name,text"; the text may hold blanks, commas, or nothing. Fails with
  /// kBadData naming the line.
  static Result<Texts> read(const std::string& path);

  /// The text of the sample called `name`. Fails with kBadData when the file has none, or several.
  Result<std::string> of(const std::string& name) const;

 private:
  std::string path_;
  std::vector<std::string> texts_;
  SampleNames names_{"text"};
};

/// Returns the lines of a text file without their line ends. A line end at the end of the file does not start another
/// line.
Result<std::vector<std::string>> read_lines(const std::string& path);

class Labels {
 public:
  /// A folder of folders of samples, whose names are the classes: in sorted order, or in the order of its classes.txt,
  /// which has a name a line. Else a .npy of integers, or a text: a label a line, in the order of the results; or
  /// "name,label" (a header may say which column is the "label" or "class") or "name label", found by name; cells may
  /// be quoted as in RFC 4180. Fails with kBadData naming the line.
  static Result<Labels> read(const std::string& path);

  /// Labels in order: shared out evenly. `is_part`: the results may be the first of more. Fails with kBadData when the
  /// numbers do not fit.
  Status share_out(size_t results, bool is_part);

  /// The labels of the result called `name` (as it is, then without the suffix of a sample, then without folders), the
  /// `place`-th one. Fails with kBadData when the file has none, or several for that name.
  Result<std::span<const int64_t>> of(size_t place, const std::string& name) const;

 private:
  struct Row {
    std::string name;
    int64_t label = 0;
  };
  static Result<std::vector<Row>> read_rows(const std::string& path);
  /// Returns one row per file in the class folders of `path`.
  static Result<std::vector<Row>> rows_of_folders(const std::string& path);
  void add_named(const Row& row);

  std::string path_;
  std::vector<int64_t> values_;  ///< by place, or what by_name_ points at
  size_t rows_ = 0, each_ = 1;
  bool is_named_ = false;
  using Names = std::map<std::string, std::optional<size_t>>;  ///< nothing: rows of that name disagree
  Names by_name_;                                              ///< as the rows have them: stronger
  Names by_short_name_;                                        ///< without suffix, without folders
};

}  // namespace quarkq::metrics
