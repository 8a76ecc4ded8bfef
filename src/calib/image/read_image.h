// SPDX-License-Identifier: MIT
// Conversion of an image file to a tensor for a model's input.
#pragma once

#include <string>

#include "calib/data_reader.h"
#include "config/preprocess.h"

namespace quarkq::calib {

/// A whole file in memory. Messages refer to it as `name`.
struct ImageFile {
  std::string name;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

/// Returns advice if the input takes another number of images than a sample has, and an empty string otherwise.
std::string batch_hint(const config::Preprocess& preprocess, const InputSpec& input);

/// Returns one image, preprocessed: [1, C, H, W] or [1, H, W, C] in the input's element type. Fails with kBadData
/// naming the file if it is not an image, is damaged or too large to decode, or if the result does not match `input`.
Result<ir::Tensor> read_image(const ImageFile& file, const config::Preprocess& preprocess, const InputSpec& input);

}  // namespace quarkq::calib
