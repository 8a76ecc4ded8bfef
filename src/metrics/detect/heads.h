// SPDX-License-Identifier: MIT
// THE table of detector heads: how the outputs of a network become boxes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calib/image/resize_image.h"
#include "ir/tensor.h"
#include "metrics/detect/detections.h"
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

/// What a head is decoded from.
struct HeadInput {
  std::span<const std::string> outputs;  ///< their names: all, or the one that the head takes
  std::span<const ir::Tensor> values;    ///< of one image, as many
  calib::ImageSize input;                ///< of the model; -1: not known
  const BoxTruth& truth;
  double min_score = 0;

  size_t classes() const { return truth.categories.size(); }
};

struct HeadInfo {
  std::string_view name;
  std::string_view summary;
  bool takes_all_outputs;  ///< else one
  bool is_final;           ///< boxes that overlap were removed already
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
Result<std::vector<Detection>> decode_torchvision(const HeadInput& input);
Result<std::vector<Detection>> decode_tf_ssd(const HeadInput& input);
Result<std::vector<Detection>> decode_ssd(const HeadInput& input);
Result<std::vector<Detection>> decode_detr(const HeadInput& input);

/// Fails with kBadData when the size of the model's input is not known, which shares of it and grids need.
Status need_input_size(const HeadInput& input);

}  // namespace quarkq::metrics
