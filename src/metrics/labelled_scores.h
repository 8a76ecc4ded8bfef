// SPDX-License-Identifier: MIT
// Scores of classes beside the labels that are right: what every metric of labels is counted from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/scorer.h"
#include "metrics/truth/labels.h"

namespace quarkq::metrics {

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
