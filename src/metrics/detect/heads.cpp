// SPDX-License-Identifier: MIT
#include "metrics/detect/heads.h"

#include "base/suggest.h"

namespace quarkq::metrics {
namespace {

constexpr HeadInfo kHeads[] = {
    {"yolov5", "[1, boxes, 5 + classes]: centre and size in pixels, objectness, classes (YOLOv5, v7)", decode_yolov5},
    {"yolov8", "[1, 4 + classes, boxes] or its transpose: centre and size in pixels, classes (YOLOv8, 11)",
     decode_yolov8},
    {"yolox", "[1, cells, 5 + classes]: offsets and logarithms on grids of 8, 16, 32 (and 64) pixels", decode_yolox},
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

}  // namespace quarkq::metrics
