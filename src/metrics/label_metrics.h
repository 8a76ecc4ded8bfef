// SPDX-License-Identifier: MIT
// Scores of classes: where the right class stands among them.
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

/// How many classes come before `label`; of equal scores the first class comes first. kNowhere when a score is NaN.
size_t rank_of(std::span<const double> scores, size_t label);

/// The class of rank 0. Nothing when a score is NaN.
std::optional<size_t> highest_of(std::span<const double> scores);

/// How many classes an array of `dims` has scores of, for each of `labels`. Fails with kBadData when it does not hold
/// scores for so many labels, classes side by side, or a label is no class.
Result<size_t> classes_for(const ir::Shape& dims, std::span<const int64_t> labels);

/// Scores of classes beside the labels that are right: what every metric of labels is counted from.
struct LabelledScores {
  std::span<const int64_t> labels;  ///< of the reader, which outlives this
  size_t classes = 0;               ///< every label is one of them
  std::vector<double> values;       ///< classes side by side, label after label

  std::span<const double> of(size_t label) const { return std::span(values).subspan(label * classes, classes); }
};

class LabelledReader {
 public:
  static Result<LabelledReader> open(const ScoringOptions& options);
  /// Fails with kBadData when there is no label, or the results do not fit it.
  Result<LabelledScores> read(const SampleResults& results) const;

 private:
  Labels labels_;
  std::string output_;
};

}  // namespace quarkq::metrics
