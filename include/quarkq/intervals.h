// SPDX-License-Identifier: MIT
// Error bars of scores. A score is computed on some samples, and other samples of the same kind would give another
// score. Samples are drawn again with replacement, from a fixed seed, so the same samples give the same intervals
// (docs/evaluate.md#intervals).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quarkq {

/// Confidence of intervals unless a request specifies another.
inline constexpr double kConfidence = 0.95;

/// Ends of the interval of a score, or of a difference of two scores.
struct Interval {
  double low = 0, high = 0;
};

/// The difference of two scores on the same samples.
struct ScoreDifference {
  double value = 0;

  /// The interval of the difference, drawn in pairs. Excludes 0 if the difference is larger than its noise.
  Interval interval;

  /// Probability of such a difference, or a larger one, if both were equally good, by McNemar's exact test. Absent
  /// unless both scores are shares of samples that are right.
  std::optional<double> mcnemar = {};

  /// Returns whether the second score is higher beyond noise.
  bool is_above() const { return interval.low > 0 && mcnemar.value_or(0) <= 1 - kConfidence; }

  /// Returns whether the second score is lower beyond noise.
  bool is_below() const { return interval.high < 0 && mcnemar.value_or(0) <= 1 - kConfidence; }
};

/// Values of a score on samples that were drawn again. The same number of samples gives the same draws for every model,
/// so two models on the same samples can be compared in pairs.
struct Resamples {
  size_t samples = 0;

  /// The score on each draw. At most 1000 values; empty if the score has no samples of its own.
  std::vector<double> draws = {};

  /// '1' or '0' per sample if the score is the share of right samples, '-' if the sample does not count; otherwise
  /// empty.
  std::string hits = {};

  /// Number of samples that count, such as those with a label; absent: all.
  std::optional<size_t> labelled = {};

  /// Number of pairs of samples that the score is computed on; absent: it is computed on the samples themselves.
  std::optional<size_t> pairs = {};

  /// Returns the number of samples that count.
  size_t counted() const { return labelled.value_or(samples); }
};

}  // namespace quarkq
