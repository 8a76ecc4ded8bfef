// SPDX-License-Identifier: MIT
// Structural similarity of two arrays interpreted as images (ref:evaluation#metrics).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/intervals.h"
#include "ir/shape.h"
#include "ir/tensor.h"
#include "metrics/truth/labels.h"
#include "numeric/metrics.h"
#include "quarkq/evaluate.h"

namespace quarkq::metrics {

/// Division of an array into images of `height` x `width`: value (image, y, x) is at image * image_stride + y *
/// row_stride + x * column_stride.
struct ImageSplit {
  int64_t images = 1, height = 1, width = 1;
  int64_t image_stride = 0, row_stride = 0, column_stride = 1;
};
/// Rank 0 and 1: one row. Rank 2: [H, W]. Rank 3: [H, W, C]. Above: [..., H, W].
ImageSplit split_images(const ir::Shape& dims);

/// Definition of the variances and the covariance inside a window.
enum class WindowMoments {
  kCentral,  ///< E[xy] - E[x] E[y]: the definition of Wang et al. 2004
  kRaw,      ///< E[xy]: what the reference computes
};

/// Returns the mean of the similarity map over all pixels of all images, 1 for equal arrays, with constants for values
/// between 0 and 255. Works in tiles: memory does not grow with the image. REQUIRES: sizes match `split`, not empty.
double ssim(std::span<const double> a, std::span<const double> b, const ImageSplit& split, WindowMoments moments);

// Comparison of two arrays: every metric of evaluate(), and sums for aggregates.

/// Two arrays of one shape as doubles.
struct ArrayPair {
  std::vector<double> baseline, quantized;
  ir::Shape dims;
  bool is_choice = false;  ///< The baseline's PairMetrics::is_choice.
};
/// The names of the arrays appear in messages. Fails with kBadData if shapes differ, there are no values, or an array
/// is not numeric.
Result<ArrayPair> pair_arrays(const ir::Tensor& baseline, const std::string& baseline_name, const ir::Tensor& quantized,
                              const std::string& quantized_name);

struct Comparison {
  PairMetrics metrics;     ///< Without a name.
  numeric::PairSums sums;  ///< With `compat`, of the values as float32.
};
/// `compat` uses the reference's definitions and rounds the values of `arrays` to float32.
Comparison compare_arrays(ArrayPair& arrays, bool compat);

/// Fills in the eight aggregates and, without `compat`, the intervals of the means. REQUIRES: there are pairs.
void aggregate(EvaluateReport& report, bool compat);

/// Labels and hits so far. Counts are integers, so their order is irrelevant.
class AccuracyCount {
 public:
  /// `is_scored` is indexed by result. `is_part`: see Labels::share_out().
  static Result<AccuracyCount> open(const AccuracyRequest& request, const std::vector<bool>& is_scored, bool is_part);

  /// Returns the hits of result number `result`, or nullopt if it is not scored. Thread-safe.
  Result<std::optional<Accuracy>> score(size_t result, const std::string& name, const ArrayPair& arrays) const;
  /// Fails with kBadData if the number of classes differs from earlier results.
  Status add(const Accuracy& one, const std::string& name);
  /// Returns the counts with their intervals. Each added result is a sample.
  Accuracy counted() const;

 private:
  Labels labels_;
  std::vector<std::optional<size_t>> place_;  ///< Index among the scored results, by result.
  std::vector<int> top_;
  bool top_by_default_ = false;
  double confidence_ = kConfidence;
  Accuracy counted_;
  std::vector<Accuracy> added_;
};

}  // namespace quarkq::metrics
