// SPDX-License-Identifier: MIT
// The table of detector heads: decoding of a network's outputs to boxes.
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

/// Input of decoding a head.
struct HeadInput {
  std::span<const std::string> outputs;  ///< Names of the outputs: all, or only the output that the head uses.
  std::span<const ir::Tensor> values;    ///< Values for one image, one per output.
  calib::ImageSize input;                ///< Input size of the model; -1 if unknown.
  const BoxTruth& truth;
  double min_score = 0;

  size_t classes() const { return truth.categories.size(); }
};

struct HeadInfo {
  std::string_view name;
  std::string_view summary;
  bool takes_all_outputs;  ///< Uses all outputs; otherwise one.
  bool is_final;           ///< Overlapping boxes were already removed.
  /// Returns boxes in pixels of the model's input. Fails with kBadData if shapes do not match.
  Result<std::vector<Detection>> (*decode)(const HeadInput& input);
};

std::span<const HeadInfo> head_table();
/// Fails with kInvalidArgument naming the known heads.
Result<const HeadInfo*> find_head(const std::string& name);

// One function per head.
Result<std::vector<Detection>> decode_yolov5(const HeadInput& input);
Result<std::vector<Detection>> decode_yolov8(const HeadInput& input);
Result<std::vector<Detection>> decode_yolox(const HeadInput& input);
Result<std::vector<Detection>> decode_torchvision(const HeadInput& input);
Result<std::vector<Detection>> decode_tf_ssd(const HeadInput& input);
Result<std::vector<Detection>> decode_ssd(const HeadInput& input);
Result<std::vector<Detection>> decode_detr(const HeadInput& input);

/// Fails with kBadData if the size of the model's input is unknown, which relative coordinates and grids need.
Status need_input_size(const HeadInput& input);

}  // namespace quarkq::metrics
