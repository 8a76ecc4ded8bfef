// SPDX-License-Identifier: MIT
// Masks of samples: the class of each pixel.
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
  std::vector<int64_t> classes;  ///< Row by row; all >= 0.
};

class Masks {
 public:
  /// Reads a folder with a .npy of integers [H, W] or a .png (grey or palette, as stored) per sample, matched by its
  /// name; or one .npy [N, H, W], in the order of the samples.
  static Result<Masks> read(const std::string& path);

  /// Checks that masks in order have one entry per sample. `is_part`: there may be further samples.
  Status share_out(size_t samples, bool is_part) const;

  /// Returns the mask of the sample called `name`, number `place`. Fails with kBadData naming the file.
  Result<Mask> of(size_t place, const std::string& name) const;

 private:
  std::string path_;
  ir::Tensor all_;                   ///< [N, H, W], for masks in order.
  std::optional<NamedFiles> files_;  ///< For masks matched by name.
};

}  // namespace quarkq::metrics
