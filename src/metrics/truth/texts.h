// SPDX-License-Identifier: MIT
// Texts of samples: what a text recognizer should read.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

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

}  // namespace quarkq::metrics
