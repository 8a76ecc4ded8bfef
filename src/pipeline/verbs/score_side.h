// SPDX-License-Identifier: MIT
// The results that score() judges: from running a model, or from a folder of results.
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

// Pairing of the result files of two folders, and their contents.

/// Two files with the same path relative to their folders.
struct ResultPair {
  std::string name;  ///< The path, with '/'.
  std::string baseline_path, quantized_path;
  bool is_missing = false;  ///< The quantized file does not exist.
  bool is_image = false;    ///< .png, .jpg or .jpeg; otherwise .npy.
};

struct ResultPairs {
  std::vector<ResultPair> pairs;   ///< Files of a folder in natural order, then its folders.
  std::vector<std::string> extra;  ///< Files that exist only in the quantized folder.
};

/// Finds the results below the baseline folder and their partners. One folder may be inside the other, and links may
/// form cycles. `only_top` reads only files in the folder itself if there are any, like the reference. Fails with
/// kBadData if a folder is missing or the baseline has no results.
Result<ResultPairs> find_result_pairs(const std::string& baseline_folder, const std::string& quantized_folder,
                                      bool only_top);

/// Both arrays of a pair; images as uint8 [H, W, 3]. Fails with kBadData if one is missing or cannot be read.
struct ResultArrays {
  ir::Tensor baseline, quantized;
};
Result<ResultArrays> read_result_pair(const ResultPair& pair);

using MetricValues = std::vector<std::optional<metrics::ScoredValue>>;

struct ScoredSide {
  MetricValues values;  ///< In the order of the metrics.
  size_t samples = 0;
  std::vector<std::string> names = {};  ///< Names of the samples, in order.
};

/// A model ready to run, and its samples.
struct ModelSide {
  std::string name;  ///< Name in messages.
  const ir::Model& model;
  const calib::DataReader& samples;
  const exec::Environment& environment;
  bool is_channels_last = false;  ///< Results of rank 4 are converted to [N, C, H, W].
  std::optional<config::Preprocess> preprocess;
};
Result<ScoredSide> score_model(const ModelSide& side, const ScoreRequest& request,
                               const std::vector<metrics::ChosenMetric>& metrics);

/// Scores the .npy files of `folder`, at any depth, one per sample. If an output is requested, reads DIR/<output>.
Result<ScoredSide> score_folder(const std::string& folder, const ScoreRequest& request,
                                const std::vector<metrics::ChosenMetric>& metrics,
                                const std::optional<config::Preprocess>& preprocess);

/// Returns the number that `metric.command` prints for the results in `folder`.
Result<double> run_metric_command(const MetricRequest& metric, const std::string& folder,
                                  const std::function<bool()>& keep_going);

}  // namespace quarkq::pipeline
