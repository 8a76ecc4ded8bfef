// SPDX-License-Identifier: MIT
// The results that score() judges: of a model that is run, or of a folder that holds them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "calib/data_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "metrics/metric_table.h"
#include "quarkq/evaluate.h"

namespace quarkq::pipeline {

// Which result files of two folders belong together, and what is in them.

/// Two files with the same path below their folders.
struct ResultPair {
  std::string name;  ///< that path, with '/'
  std::string baseline_path, quantized_path;
  bool is_missing = false;  ///< there is no quantized file
  bool is_image = false;    ///< .png, .jpg, .jpeg; else .npy
};

struct ResultPairs {
  std::vector<ResultPair> pairs;   ///< files of a folder in natural order, then its folders
  std::vector<std::string> extra;  ///< files that only the quantized folder has
};

/// The results below the baseline folder and their partners. One of the folders may be inside the other, links may lead
/// back. `only_top`: files in the folder itself, where there are any (the reference looks no deeper). Fails with
/// kBadData when a folder is missing or the baseline has no results.
Result<ResultPairs> find_result_pairs(const std::string& baseline_folder, const std::string& quantized_folder,
                                      bool only_top);

/// Both arrays of a pair; images as uint8 [H, W, 3]. Fails with kBadData when one is missing or cannot be read.
struct ResultArrays {
  ir::Tensor baseline, quantized;
};
Result<ResultArrays> read_result_pair(const ResultPair& pair);

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
  const exec::Environment& environment;
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
