// SPDX-License-Identifier: MIT
// THE table of metrics: what each is called, which way is better, what it needs and what computes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/scorer.h"

namespace quarkq::metrics {

enum class Better : uint8_t { kHigher, kLower };

/// What results are compared with.
enum class TruthKind : uint8_t { kBaseline, kLabels, kBoxes, kMasks, kTexts };

struct MetricInfo {
  std::string_view name;  ///< a K at its end stands for a number
  Better better;
  std::string_view unit;
  TruthKind truth;
  std::string_view summary;
  OpenScorer open;                                  ///< null: the metric compares two sides
  int variant;                                      ///< for Scorer::value(); of a name with a number that number
  double (*compare)(const EvaluateReport& report);  ///< null: the metric has a truth
};

std::span<const MetricInfo> metric_table();
/// "higher", "lower".
std::string_view better_name(Better better);
/// What --labels names, in words.
std::string_view truth_name(TruthKind truth);

/// A metric as it was asked for.
struct ChosenMetric {
  std::string name;
  const MetricInfo* info = nullptr;
  int variant = 0;
};
/// Fails with kInvalidArgument naming the unknown one, or one that was requested twice.
Result<std::vector<ChosenMetric>> choose_metrics(const std::vector<std::string>& names);

/// Those of the chosen metrics that have a truth, on the results of one side.
class MetricRun {
 public:
  /// Metrics of one kind share what they read.
  static Result<MetricRun> open(const std::vector<ChosenMetric>& metrics, const ScoringOptions& options);
  Status add(const SampleResults& results);
  /// In the order of the metrics; nothing where one compares two sides. Fails with kBadData when nothing was added.
  Result<std::vector<std::optional<double>>> values() const;

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
