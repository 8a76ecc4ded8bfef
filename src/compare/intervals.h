// SPDX-License-Identifier: MIT
// Error bars of scores: samples are drawn again with replacement, from a fixed seed. All intervals of quarkq are made
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "quarkq/intervals.h"

namespace quarkq::compare {

/// How often each sample counts.
using Weights = std::span<const uint16_t>;

/// A score as a function of the samples.
struct SampledScore {
  std::function<double(Weights)> value;  ///< Called by several threads at the same time.
  size_t cost = 0;                       ///< Number of steps of one call, from the number of samples on.
  std::string hits = {};                 ///< See Resamples.
  std::optional<size_t> counted = {};    ///< Number of samples that count; absent: all.
  std::optional<size_t> pairs = {};      ///< See Resamples.

  /// Returns the score of `samples` samples that count once each.
  double once(size_t samples) const { return value(std::vector<uint16_t>(samples, 1)); }
};

/// Contribution of a sample to a ratio of two sums.
struct Parts {
  double top = 0, bottom = 0;
};
/// Returns finish(sum of the tops / sum of the bottoms). If each bottom is 1 and each top 0 or 1, the score has hits.
/// Samples with a bottom of 0 do not count.
SampledScore ratio_of(std::vector<Parts> samples, double (*finish)(double) = nullptr);

/// Draws the samples again, at most 1000 times and fewer if a call is expensive. All scores receive the same draws, and
/// the draws depend on the number of samples only. Returns no draws if fewer than 2 samples count.
std::vector<Resamples> resample(std::span<const SampledScore> scores, size_t samples);
Resamples resample(const SampledScore& score, size_t samples);

/// Returns the interval around `value` that contains the score of all possible samples with this confidence. It is
/// wider than the quantiles of the draws if there are few samples. If all samples are hits, or none, it extends to the
/// share for which that is as improbable as the end of an interval. Returns nullopt without draws, and if the score has
/// no value on half of the draws.
std::optional<Interval> interval_of(const Resamples& samples, double value, double confidence = kConfidence);

/// Fails with kInvalidArgument unless `confidence` is from 0.5 to 0.99: 1000 draws have no ends further out.
Status check_confidence(double confidence);

/// A score and the draws that its interval comes from.
struct Measured {
  double value = 0;
  const Resamples& samples;
};
/// Returns `second` - `first`, drawn in pairs. REQUIRES: the draws are of the same samples. Returns nullopt if one side
/// has no draws, or has another number of samples.
std::optional<ScoreDifference> difference_of(const Measured& first, const Measured& second,
                                             double confidence = kConfidence);

/// Returns "not enough samples to tell, there are 200", or the same about pairs if the score is computed on pairs.
std::string too_few_text(const Resamples& samples);

/// A goal of a score: the value must reach the bound, and the whole interval if one is required.
struct ScoreGate {
  double bound = 0;
  bool is_at_least = true;
  std::optional<double> confidence = {};  ///< The confidence of the interval; absent: only the value counts.
};
/// Returns an empty text if the score passes, and otherwise the reason: "0.7, required is at least 0.75". If only the
/// interval fails, the reason is that there are not enough samples to tell, with about how many are enough.
std::string why_missed(const ScoreGate& gate, const Measured& score, const std::optional<Interval>& interval);

}  // namespace quarkq::compare
