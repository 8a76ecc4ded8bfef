// SPDX-License-Identifier: MIT
#include "metrics/detect/suppress.h"

#include <algorithm>
#include <map>

namespace quarkq::metrics {
namespace {

constexpr size_t kMostFound = 30000, kMostKept = 300;  // as detectors of the YOLO family are evaluated

}  // namespace

std::vector<Detection> suppress(std::vector<Detection> found, double most_overlap) {
  std::ranges::stable_sort(found, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (found.size() > kMostFound) found.resize(kMostFound);
  std::vector<Detection> kept;
  kept.reserve(std::min(found.size(), kMostKept));
  std::map<size_t, std::vector<Box>> by_category;
  for (const Detection& detection : found) {
    std::vector<Box>& boxes = by_category[detection.category];
    const auto hides = [&](const Box& box) { return overlap(box, detection.box) > most_overlap; };
    if (std::ranges::any_of(boxes, hides)) continue;
    boxes.push_back(detection.box);
    kept.push_back(detection);
    if (kept.size() == kMostKept) break;
  }
  return kept;
}

}  // namespace quarkq::metrics
