// SPDX-License-Identifier: MIT
// Labels of results: the class that each should score highest.
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

/// Texts of samples: the expected output of a text recognizer.
class Texts {
 public:
  /// Reads lines "name<TAB>text" or, without a TAB, "name,text"; the text may contain blanks and commas, or be empty.
  /// Fails with kBadData naming the line.
  static Result<Texts> read(const std::string& path);

  /// Returns the text of the sample called `name`. Fails with kBadData if the file has none, or several.
  Result<std::string> of(const std::string& name) const;

 private:
  std::string path_;
  std::vector<std::string> texts_;
  SampleNames names_{"text"};
};

/// Returns the lines of a text file without their line ends. A line end at the end of the file does not start another
/// line. Fails with kBadData if the file contains zero bytes, as binary files do.
Result<std::vector<std::string>> read_lines(const std::string& path);

class Labels {
 public:
  /// Reads labels. A folder of class folders: the classes are the folder names in sorted order, or in the order of its
  /// classes.txt, one name per line. A .npy of integers. A text: one label per line, in the order of the results; or
  /// "name,label" (a header may name the column "label" or "class") or "name label", matched by name; cells may be
  /// quoted as in RFC 4180. Fails with kBadData naming the line.
  static Result<Labels> read(const std::string& path);

  /// Assigns labels in order evenly to the results. `is_part`: there may be further results. Fails with kBadData if the
  /// numbers do not match.
  Status share_out(size_t results, bool is_part);

  /// Returns the labels of result number `place`, called `name` (unchanged, then without the suffix of a sample, then
  /// without folders). Fails with kBadData if the file has none, or several for that name.
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
  /// Returns advice if `name` is a row of a batch that has a label, and an empty string otherwise.
  std::string hint_for(const std::string& name) const;

  std::string path_;
  std::vector<int64_t> values_;  ///< Indexed by position, or by the entries of by_name_.
  size_t rows_ = 0, each_ = 1;
  bool is_named_ = false;
  using Names = std::map<std::string, std::optional<size_t>>;  ///< Absent: rows of that name disagree.
  Names by_name_;                                              ///< Complete names; these take precedence.
  Names by_short_name_;                                        ///< Without suffix and folders.
};

}  // namespace quarkq::metrics
