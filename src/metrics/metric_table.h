// SPDX-License-Identifier: MIT
// The table of metrics: name, direction, requirements and scorer of each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/scorer.h"

namespace quarkq::metrics {

enum class Better : uint8_t { kHigher, kLower };

/// Reference data of a metric.
enum class TruthKind : uint8_t { kBaseline, kLabels, kBoxes, kMasks, kTexts, kIds };

struct MetricInfo {
  std::string_view name;  ///< A K at its end represents a number.
  Better better;
  std::string_view unit;
  TruthKind truth;
  std::string_view summary;
  OpenScorer open;               ///< Null: the metric compares two sides.
  int variant;                   ///< Argument of Scorer::value(); for a name with a number, that
                                 ///< number.
  double PairMetrics::*compare;  ///< Null: the metric has a truth.
};

/// Returns the mean of a figure over the pairs of each sample. Integers that choose are left out unless there is
/// nothing else. REQUIRES: there are pairs.
compare::SampledScore mean_of(const EvaluateReport& report, double PairMetrics::*figure);
/// Returns the number of samples that the pairs of a report belong to.
size_t sample_count(const EvaluateReport& report);

std::span<const MetricInfo> metric_table();
/// Returns "higher" or "lower".
std::string_view better_name(Better better);
/// Returns a description of what --labels specifies.
std::string_view truth_name(TruthKind truth);

/// A metric as requested.
struct ChosenMetric {
  std::string name;
  const MetricInfo* info = nullptr;
  int variant = 0;
};
/// Fails with kInvalidArgument if a name is unknown or requested twice; the message contains it.
Result<std::vector<ChosenMetric>> choose_metrics(const std::vector<std::string>& names);

struct ScoredValue {
  double value = 0;
  Resamples samples;
};

/// The chosen metrics with a truth, on the results of one side.
class MetricRun {
 public:
  /// Metrics of one kind share what they read.
  static Result<MetricRun> open(const std::vector<ChosenMetric>& metrics, const ScoringOptions& options);
  Status add(const SampleResults& results);
  /// Returns values in the order of the metrics, with draws of the samples; nullopt for a metric that compares two
  /// sides. Fails with kBadData if nothing was added.
  Result<std::vector<std::optional<ScoredValue>>> values() const;

 private:
  struct Row {
    size_t scorer = 0;
    int variant = 0;
    bool is_scored = false;
    std::string name;
  };
  std::vector<Row> rows_;
  std::vector<OpenScorer> kinds_;
  std::vector<std::unique_ptr<Scorer>> scorers_;
  size_t added_ = 0;
};

}  // namespace quarkq::metrics
