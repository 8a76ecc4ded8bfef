// SPDX-License-Identifier: MIT
// THE table of detector heads: how the outputs of a network become boxes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calib/image/frame_image.h"
#include "ir/tensor.h"
#include "metrics/detect/average_precision.h"

namespace quarkq::metrics {

/// What a head is decoded from.
struct HeadInput {
  const ir::Tensor& output;  ///< of one image
  calib::ImageSize input;    ///< of the model; -1: not known
  size_t classes = 0;        ///< that the truth has
  double min_score = 0;
};

struct HeadInfo {
  std::string_view name;
  std::string_view summary;
  /// Boxes in pixels of the model's input. Fails with kBadData when shapes do not fit.
  Result<std::vector<Detection>> (*decode)(const HeadInput& input);
};

std::span<const HeadInfo> head_table();
/// Fails with kInvalidArgument naming those that there are.
Result<const HeadInfo*> find_head(const std::string& name);

// One function per head.
Result<std::vector<Detection>> decode_yolov5(const HeadInput& input);
Result<std::vector<Detection>> decode_yolov8(const HeadInput& input);
Result<std::vector<Detection>> decode_yolox(const HeadInput& input);

}  // namespace quarkq::metrics
