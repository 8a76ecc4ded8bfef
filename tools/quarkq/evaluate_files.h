// SPDX-License-Identifier: MIT
// The files that quarkq evaluate writes at its end, opened before: a place that cannot be written must not cost a whole
// comparison, and all of them are refused when one cannot be.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "quarkq/evaluate.h"

namespace quarkq::tool {

class EvaluateFiles {
 public:
  using Text = std::string (*)(const EvaluateReport&);

  /// Nothing when `path` is empty; "-" is stdout. Fails with kInvalidArgument when it is open already, kIo when it
  /// cannot be written.
  Status open(const std::string& path, Text text);
  /// Writes all files, then puts them in their places.
  Status write(const EvaluateReport& report);

 private:
  struct File {
    AtomicFile file;
    Text text;
  };
  std::vector<File> files_;
  Text printed_ = nullptr;  ///< what goes to stdout, place "-"
};

}  // namespace quarkq::tool
