// SPDX-License-Identifier: MIT
// Boxes of a model's input, brought back to the photo that the input was made of.
#pragma once

#include <optional>

#include "calib/image/frame_image.h"
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

/// How photos became inputs: what boxes are mapped back with.
struct Geometry {
  std::optional<config::Preprocess> preprocess;  ///< absent: boxes of truth and results are of the same pixels
  calib::ImageSize input;                        ///< of the model; -1: not known
};

/// image = (input - offset) / scale.
struct Unframe {
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
  calib::ImageSize image;  ///< boxes end there; -1: not known

  Box apply(const Box& box) const;
};

/// For an image of this size. Fails with kBadData when a size that is needed is not known.
Result<Unframe> unframe_for(const Geometry& geometry, const calib::ImageSize& image);

}  // namespace quarkq::metrics
