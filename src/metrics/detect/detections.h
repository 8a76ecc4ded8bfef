// SPDX-License-Identifier: MIT
// Average precision of detections as COCO defines it: 10 overlaps from 0.5 to 0.95, precision at 101 recalls, the best
// 100 detections of an image and category, objects of all sizes; crowds count neither way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calib/image/resize_image.h"
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

struct Detection {
  Box box;
  double score = 0;
  size_t category = 0;  ///< index into the categories of the truth
};

/// Intersection over union; of a crowd: over the area of `found`. 0 when they do not overlap.
double overlap(const Box& found, const Box& truth, bool is_crowd = false);

/// Which of equal or overlapping detections counts is decided by score, then by the order of images and detections.
class AveragePrecision {
 public:
  explicit AveragePrecision(size_t categories) : categories_(categories) {}

  /// `image`: its number in the truth. REQUIRES: not added before, categories within range.
  void add(size_t image, const std::vector<TrueBox>& truth, const std::vector<Detection>& found);

  static constexpr size_t kOverlaps = 10;
  /// Mean over the overlaps `first` to `last` (left out) and the categories that have objects; NaN without objects.
  double mean(size_t first = 0, size_t last = kOverlaps) const;

 private:
  struct Entry {
    double score = 0;
    size_t image = 0, rank = 0;
    uint16_t matched = 0, ignored = 0;  ///< a bit for each overlap
  };
  struct Category {
    std::vector<Entry> entries;
    size_t objects = 0;
  };
  static double average(const std::vector<Entry>& entries, size_t objects, size_t at);

  std::vector<Category> categories_;
};

// Non-maximum suppression: of boxes of a class that overlap, the one that scores highest stays.

/// Those that stay, by score; of equal scores the first. At most 300, of the 30000 that score highest.
std::vector<Detection> suppress(std::vector<Detection> found, double most_overlap);

// Boxes of a model's input, brought back to the photo that the input was made of.

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
