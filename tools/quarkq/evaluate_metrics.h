// SPDX-License-Identifier: MIT
// quarkq evaluate --metric, --metric-cmd: scores of one or two sides instead of the comparison.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "quarkq/score.h"

namespace quarkq::tool {

struct MetricArgs {
  MetricRequest request;
  std::vector<std::string> required;  ///< "top1>=0.7", "cer<=0.05"

  bool is_asked() const { return !request.names.empty() || !request.command.empty(); }
};
/// Which metric, and how a model's outputs are read for it.
void add_scoring_options(CLI::App& app, MetricRequest& request);
/// The same and --require.
void add_metric_options(CLI::App& app, MetricArgs& args);

/// "NAME>=X" or "NAME<=X".
struct Requirement {
  std::string metric;
  bool is_at_least = true;
  double bound = 0;
};
/// Fails with kInvalidArgument unless it is about one of `metrics`.
Result<Requirement> read_requirement(const std::string& text, const std::vector<std::string>& metrics);

/// "0.8125": six significant digits.
std::string six_digits(double value);

/// Scores, prints and judges. `json`: as add_json_option() fills it in.
Status run_metrics(ScoreRequest& request, const MetricArgs& args, const std::string& json);

}  // namespace quarkq::tool
