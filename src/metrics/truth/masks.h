// SPDX-License-Identifier: MIT
// Masks of samples: which class each of their pixels has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

struct Mask {
  std::string path;
  int64_t height = 0, width = 0;
  std::vector<int64_t> classes;  ///< by rows; every one >= 0
};

class Masks {
 public:
  /// A folder with a .npy of integers [H, W] or a .png (grey or palette, as stored) for each sample, found by its name;
  /// or one .npy [N, H, W], in the order of the samples.
  static Result<Masks> read(const std::string& path);

  /// Masks in order: checks that there is one for each sample. `is_part`: the samples may be the first of more.
  Status share_out(size_t samples, bool is_part) const;

  /// The mask of the sample called `name`, the `place`-th one. Fails with kBadData naming the file.
  Result<Mask> of(size_t place, const std::string& name) const;

 private:
  std::string path_;
  ir::Tensor all_;                   ///< [N, H, W], when they are in order
  std::optional<NamedFiles> files_;  ///< when they are found by name
};

}  // namespace quarkq::metrics
