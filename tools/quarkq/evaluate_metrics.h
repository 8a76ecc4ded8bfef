// SPDX-License-Identifier: MIT
// quarkq evaluate --metric, --metric-cmd: scores of one or two sides instead of the comparison.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "quarkq/evaluate.h"

namespace quarkq::tool {

/// The files that quarkq evaluate writes at its end. They are opened before the comparison, so that a path that is not
/// writable does not cost a whole comparison. If one cannot be opened, none is written.
class EvaluateFiles {
 public:
  using Text = std::string (*)(const EvaluateReport&);

  /// Opens nothing for an empty `path`; "-" is stdout. Fails with kInvalidArgument if the file is already open and with
  /// kIo if it is not writable.
  Status open(const std::string& path, Text text);
  /// Writes all files, then renames them to their final names.
  Status write(const EvaluateReport& report);

 private:
  struct File {
    AtomicFile file;
    Text text;
  };
  std::vector<File> files_;
  Text printed_ = nullptr;  ///< The text for stdout, path "-".
};

struct MetricArgs {
  MetricRequest request;
  std::optional<double> confidence;   ///< Confidence of the intervals that gates apply to; absent: to values.
  std::vector<std::string> required;  ///< "top1>=0.7", "cer<=0.05".

  bool is_asked() const { return !request.names.empty() || !request.command.empty(); }
};
/// Adds the options for the metric and for decoding a model's outputs.
void add_scoring_options(CLI::App& app, MetricRequest& request);
/// Adds the scoring options and --require.
void add_metric_options(CLI::App& app, MetricArgs& args);

/// "NAME>=X" or "NAME<=X".
struct Requirement {
  std::string metric;
  bool is_at_least = true;
  double bound = 0;
};
/// Fails with kInvalidArgument unless the requirement names one of `metrics`.
Result<Requirement> read_requirement(const std::string& text, const std::vector<std::string>& metrics);

/// Returns the value with six significant digits: "0.8125".
std::string six_digits(double value);
/// Returns "0.78 to 0.84", or "-" if there is none.
std::string interval_text(const std::optional<Interval>& interval);
/// Returns "-0.02 (-0.05 to 0.01)", with the probability of McNemar's test if there is one; "-" without a difference.
std::string change_text(const std::optional<ScoreDifference>& difference);

/// Adds --confidence. Absent unless the user passes it.
void add_confidence_option(CLI::App& app, std::optional<double>& confidence, const char* summary);

/// Scores, prints and judges. `json` is the value from add_json_option().
Status run_metrics(ScoreRequest& request, const MetricArgs& args, const std::string& json);

}  // namespace quarkq::tool
