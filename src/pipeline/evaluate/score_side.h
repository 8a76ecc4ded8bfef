// SPDX-License-Identifier: MIT
// The results that score() judges: of a model that is run, or of a folder that holds them.
#pragma once

#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "ir/graph.h"
#include "metrics/metric_table.h"
#include "quarkq/score.h"

namespace quarkq::pipeline {

using MetricValues = std::vector<std::optional<double>>;

struct ScoredSide {
  MetricValues values;  ///< in the order of the metrics
  size_t samples = 0;
};

/// A model that is ready to run, and its samples.
struct ModelSide {
  std::string name;  ///< in messages
  const ir::Model& model;
  const calib::DataReader& samples;
  bool is_channels_last = false;  ///< results of rank 4 are brought to [N, C, H, W]
  std::optional<config::Preprocess> preprocess;
};
Result<ScoredSide> score_model(const ModelSide& side, const ScoreRequest& request,
                               const std::vector<metrics::ChosenMetric>& metrics);

/// The .npy files of `folder`, at any depth: each a sample. With an output asked for, those of DIR/<output>.
Result<ScoredSide> score_folder(const std::string& folder, const ScoreRequest& request,
                                const std::vector<metrics::ChosenMetric>& metrics,
                                const std::optional<config::Preprocess>& preprocess);

/// The number that `metric.command` prints for the results in `folder`.
Result<double> run_metric_command(const MetricRequest& metric, const std::string& folder,
                                  const std::function<bool()>& keep_going);

}  // namespace quarkq::pipeline
