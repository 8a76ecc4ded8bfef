// SPDX-License-Identifier: MIT
// quarkq evaluate --metric, --metric-cmd: scores of one or two sides instead of the comparison.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "quarkq/evaluate.h"

namespace quarkq::tool {

/// The files that quarkq evaluate writes at its end, opened before: a place that cannot be written must not cost a
/// whole comparison, and all of them are refused when one cannot be.
class EvaluateFiles {
 public:
  using Text = std::string (*)(const EvaluateReport&);

  /// Nothing when `path` is empty; "-" is stdout. Fails with kInvalidArgument when it is open already, kIo when it
  /// cannot be written.
  Status open(const std::string& path, Text text);
  /// Writes all files, then puts them in their places.
  Status write(const EvaluateReport& report);

 private:
  struct File {
    AtomicFile file;
    Text text;
  };
  std::vector<File> files_;
  Text printed_ = nullptr;  ///< what goes to stdout, place "-"
};

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
