// SPDX-License-Identifier: MIT
// Average precision of detections as defined by COCO: 10 overlaps from 0.5 to 0.95, precision at 101 recalls, the best
// 100 detections of an image and category, objects of all sizes; crowds are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calib/image/resize_image.h"
#include "compare/intervals.h"
#include "metrics/truth/boxes.h"

namespace quarkq::metrics {

struct Detection {
  Box box;
  double score = 0;
  size_t category = 0;  ///< Index into the categories of the truth.
};

/// Returns intersection over union; for a crowd, intersection over the area of `found`. Returns 0 if they do not
/// overlap.
double overlap(const Box& found, const Box& truth, bool is_crowd = false);

/// Score, then the order of images and detections decides between equal or overlapping detections.
class AveragePrecision {
 public:
  explicit AveragePrecision(size_t categories) : categories_(categories) {}

  /// `image` is its number in the truth. REQUIRES: not added before, categories within range.
  void add(size_t image, const std::vector<TrueBox>& truth, const std::vector<Detection>& found);

  static constexpr size_t kOverlaps = 10;
  /// Returns the mean over the overlaps `first` to before `last` and the categories with objects, as a function of how
  /// often each added image counts; NaN without objects.
  compare::SampledScore score(size_t first = 0, size_t last = kOverlaps) const;
  /// Returns the mean with each image once.
  double mean(size_t first = 0, size_t last = kOverlaps) const { return score(first, last).once(images_); }

 private:
  struct Entry {
    double score = 0;
    size_t image = 0, rank = 0;
    size_t added = 0;                   ///< Place of the image in the order of add().
    uint16_t matched = 0, ignored = 0;  ///< One bit per overlap.
  };
  struct Objects {
    size_t added = 0, count = 0;
  };
  struct Category {
    std::vector<Entry> entries;
    std::vector<Objects> objects;  ///< Per image that has some.

    /// Returns the number of objects.
    size_t count(compare::Weights weights) const;
    double average(size_t total, size_t at, compare::Weights weights) const;
  };

  std::vector<Category> categories_;
  size_t images_ = 0;
};

/// Returns the kept boxes by score; of equal scores the first. Returns at most 300, from the 30000 that score highest.
std::vector<Detection> suppress(std::vector<Detection> found, double most_overlap);

/// How photos were converted to inputs, for mapping boxes back.
struct Geometry {
  std::optional<config::Preprocess> preprocess;  ///< Absent: boxes of truth and results refer to the same pixels.
  calib::ImageSize input;                        ///< Input size of the model; -1 if unknown.
};

/// image = (input - offset) / scale.
struct Unframe {
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
  calib::ImageSize image;  ///< Boxes are clipped to it; -1 if unknown.

  Box apply(const Box& box) const;
};

/// Returns the mapping for an image of this size. Fails with kBadData if a required size is unknown.
Result<Unframe> unframe_for(const Geometry& geometry, const calib::ImageSize& image);

}  // namespace quarkq::metrics
