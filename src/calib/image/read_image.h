// SPDX-License-Identifier: MIT
// An image file as the tensor that a model's input takes.
#pragma once

#include <string>

#include "calib/data_reader.h"
#include "config/preprocess.h"

namespace quarkq::calib {

/// A whole file in memory; `name` is its name in messages.
struct ImageFile {
  std::string name;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

/// One image, preprocessed: [1, C, H, W] or [1, H, W, C] in the input's element type. kBadData names the file: not an
/// image, damaged, too large to decode, or a result that does not fit `input`.
Result<ir::Tensor> read_image(const ImageFile& file, const config::Preprocess& preprocess, const InputSpec& input);

}  // namespace quarkq::calib
