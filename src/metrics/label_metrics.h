// SPDX-License-Identifier: MIT
// Scores of classes, and the rank of the right class among them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/shape.h"
#include "metrics/scorer.h"
#include "metrics/truth/labels.h"

namespace quarkq::metrics {

constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

/// Returns the number of classes ranked before `label`. Of equal scores the first class ranks first. Returns kNowhere
/// if a score is NaN.
size_t rank_of(std::span<const double> scores, size_t label);

/// Returns the class of rank 0, or nullopt if a score is NaN.
std::optional<size_t> highest_of(std::span<const double> scores);

/// Returns the number of classes that an array of `dims` scores for each of `labels`. Fails with kBadData if it does
/// not contain scores for this number of labels, with adjacent classes, or if a label is not a class.
Result<size_t> classes_for(const ir::Shape& dims, std::span<const int64_t> labels);

/// Scores of classes with their right labels: the input of every metric of labels.
struct LabelledScores {
  std::span<const int64_t> labels;  ///< Labels of the reader, which outlives this object.
  size_t classes = 0;               ///< Every label is one of them.
  std::vector<double> values;       ///< Adjacent classes, label after label.

  std::span<const double> of(size_t label) const { return std::span(values).subspan(label * classes, classes); }
};

class LabelledReader {
 public:
  static Result<LabelledReader> open(const ScoringOptions& options);
  /// Fails with kBadData if there is no label, or if the results do not match it.
  Result<LabelledScores> read(const SampleResults& results) const;

 private:
  Labels labels_;
  std::string output_;
};

}  // namespace quarkq::metrics
