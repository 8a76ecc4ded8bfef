// SPDX-License-Identifier: MIT
#include "metrics/detect/heads.h"

#include "base/suggest.h"

namespace quarkq::metrics {
namespace {

constexpr HeadInfo kHeads[] = {
    {"yolov5", "[1, boxes, 5 + classes]: centre and size in pixels, objectness, classes (YOLOv5, v7)", false, false,
     decode_yolov5},
    {"yolov8", "[1, 4 + classes, boxes] or its transpose: centre and size in pixels, classes (YOLOv8, 11)", false,
     false, decode_yolov8},
    {"yolox", "[1, cells, 5 + classes]: offsets and logarithms on grids of 8, 16, 32 (and 64) pixels", false, false,
     decode_yolox},
    {"ssd", "boxes [1, boxes, 4] by corners as shares of the input, scores [1, boxes, 1 + classes], background first",
     true, false, decode_ssd},
    {"detr", "boxes [1, queries, 4] by centre and size as shares, logits [1, queries, classes (+ 1)] (DETR, RT-DETR)",
     true, true, decode_detr},
    {"torchvision", "boxes [boxes, 4] by corners in pixels, labels [boxes] and scores [boxes]", true, true,
     decode_torchvision},
    {"tf-ssd", "detection_boxes [1, boxes, 4] (top, left, bottom, right as shares), _classes and _scores [1, boxes]",
     true, true, decode_tf_ssd},
};

}  // namespace

std::span<const HeadInfo> head_table() { return kHeads; }

Result<const HeadInfo*> find_head(const std::string& name) {
  std::vector<std::string> names;
  names.reserve(head_table().size());
  for (const HeadInfo& head : head_table()) {
    if (head.name == name) return &head;
    names.emplace_back(head.name);
  }
  return invalid_argument("--head: found ", name.empty() ? "none" : name, ", allowed are ", join(names, ", "),
                          did_you_mean(name, names));
}

Status need_input_size(const HeadInput& input) {
  if (input.input.height >= 1 && input.input.width >= 1) return Status();
  return bad_data(
      "the head needs the size of the model's input, which is not known; give the model, or a size in "
      "`preprocess: resize`");
}

}  // namespace quarkq::metrics
