// SPDX-License-Identifier: MIT
// score(): how good results are, measured against what is known to be right (labels, boxes, masks, texts) or by a
// command of the caller's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quarkq/evaluate.h"
#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// How boxes are read from the outputs of a detector.
struct DetectorRequest {
  std::string head = {};     ///< how its outputs are laid out: a name of `quarkq list heads`
  double min_score = 0.001;  ///< boxes that score less are left out
  double nms_iou = 0.65;     ///< of boxes of a class that overlap more, the highest counts
};

struct MetricRequest {
  std::vector<std::string> names = {};  ///< of `quarkq list metrics`
  std::string truth_path = {};          ///< what the metrics compare with: a file or a folder
  std::string output = {};              ///< whose results are scored, when there are several outputs
  DetectorRequest detector = {};
  std::string classes_path = {};   ///< the names of the classes, line by line, where boxes are in a folder
  std::string alphabet_path = {};  ///< of text recognizers: the symbol of each class from 1 on, line by line
  std::string command = {};        ///< prints one number; "{results}" in a word of it is the folder of results
  double command_seconds = 600;    ///< longer than that is an error
  Metric function = {};            ///< compares two models; may be empty
};

/// One or two sides: models (files ending in .onnx, or bytes), or folders of their results.
struct ScoreRequest {
  std::string baseline;  ///< empty: only `results` are scored
  std::string results;
  std::optional<std::string> baseline_bytes = {}, results_bytes = {};  ///< serialized models, instead of the files
  std::string data_folder;                                             ///< samples for models
  SampleSource sample_source = {};                                     ///< samples from memory, instead of a folder
  std::string config;                                                  ///< its preprocessing is used; may be empty
  std::vector<std::string> settings = {};  ///< "key=value", stronger than `config`: "preprocess=imagenet"
  size_t limit = 0;                        ///< first so many samples; 0: all
  MetricRequest metric = {};
  int threads = 0;
  EvaluateProgress progress = {};
};

struct MetricValue {
  std::string name, unit = {};
  bool higher_is_better = true;
  std::optional<double> baseline = {};  ///< absent with one side, and for metrics that compare the two
  double value = 0;
};

struct ScoreReport {
  size_t samples = 0;
  std::vector<MetricValue> metrics;  ///< in the order they were asked for, then the command's and the function's
  std::vector<Finding> findings;
};

/// The name of the command's value among the metrics.
inline constexpr const char kCommandMetric[] = "command";
/// That of the function's.
inline constexpr const char kFunctionMetric[] = "metric";

/// Fails with kInvalidArgument for unknown metrics and missing options, with kBadData when truth or results cannot be
/// read or do not fit each other, and when the command fails, takes too long or does not print one number.
QUARKQ_EXPORT Result<ScoreReport> score(const ScoreRequest& request);

/// The report as JSON, keys in a fixed order. NaN and infinities become null.
QUARKQ_EXPORT std::string to_json(const ScoreReport& report);

}  // namespace quarkq
