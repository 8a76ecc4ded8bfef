// SPDX-License-Identifier: MIT
// evaluate(): two folders of results, or two models over the same samples, pair by pair; accuracy when labels are
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

/// run(): a float or quantized model over a folder of samples, results as .npy files.
struct RunRequest {
  std::string model_path;                  ///< when `model_bytes` are given: what messages call the model
  std::optional<std::string> model_bytes;  ///< as in QuantizeRequest
  std::string input_folder;
  SampleSource sample_source;         ///< samples from memory, instead of a folder
  std::string config;                 ///< how samples are read: `calibration` and `preprocess` of a file or preset
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`: "preprocess=imagenet"
  std::string output_folder;  ///< made when missing; DIR/<sample>.npy, or DIR/<output>/<sample>.npy for several outputs
  /// Takes the results of each sample, instead of files in `output_folder`. An error that it returns ends the run.
  std::function<Status(const std::string& sample, const std::vector<SampleTensor>& results)> on_result;
  int threads = 0;             ///< 0: the cores that are free
  int64_t memory_ceiling = 0;  ///< as in QuantizeRequest
  size_t limit = 0;            ///< first so many samples; 0: all
  int64_t max_memory = 0;      ///< bytes for intermediate values and results; 0: the memory of the machine or container
  int repeat = 1;              ///< run each sample this often; the results are the same
  std::function<bool(const Progress&)> progress;
};

struct RunReport {
  size_t samples = 0;
  std::vector<std::string> outputs;
  std::vector<double> milliseconds;  ///< per run, inference only
  size_t arena_bytes = 0;            ///< intermediate values; 0 where another runtime has them
  std::string backend;               ///< who ran it: "native", or "onnxruntime 1.23.0 (CPUExecutionProvider)"
  /// Folder by output, for outputs whose folder got a number because another output is spelt the same.
  std::map<std::string, std::string> renamed = {};
  std::vector<Finding> findings = {};  ///< what was found and left out of the samples
};

QUARKQ_EXPORT Result<RunReport> run_model(const RunRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const RunReport& report);

/// Metrics of one pair of arrays (ref:evaluation#metrics). By default every sum is a double; with `compat` the
/// reference's definitions hold where they differ, and values are rounded to float32 as the reference's are.
struct PairMetrics {
  std::string file;   ///< path below both folders; of models the sample, as "<output>/<sample>" for several outputs
  double cosine = 0;  ///< of the flattened arrays. Norms of zero: both 1, one 0; compat: NaN
  double l2 = 0;      ///< |baseline - quantized|, not normalized
  /// dB: 20 log10(peak) - 10 log10(mean squared error), peak and error at least 1e-10, so equal arrays have a finite
  /// value. peak is the baseline's largest magnitude; compat: its largest signed value.
  double psnr = 0;
  /// Structural similarity in a Gaussian window of 11 x 11 (sigma 1.5), constants for values of 0 to 255. Rank 2 is one
  /// image, rank 3 is [H, W, C], from rank 4 on the last two dimensions are H and W; the mean over all images.
  /// compat: blurred squares and products stand in for variances and covariance.
  double ssim = 0;
  double sqnr_db = 0;      ///< 10 log10(sum baseline^2 / sum error^2); infinite when equal
  double max_abs = 0;      ///< largest difference of two values
  bool is_choice = false;  ///< booleans, or integers of 32 bits or more: indices, classes, counts
  /// Places where both arrays hold NaN or the same infinity, which the figures leave out, and places where only one
  /// does: the cosine is multiplied by the share of places that can be compared, the others are NaN. compat: both are
  /// 0.
  uint64_t same_not_finite = 0, different_not_finite = 0;
};

/// What accuracy is measured on.
struct AccuracyRequest {
  std::string labels_path;  ///< .npy of integers, or text: "label" or "name,label" a line; empty: not measured
  std::vector<int> top;     ///< empty: 1, and 5 when there are more than 5 classes
  std::string output;       ///< whose results are scores, when there are several outputs; empty: all of them
};

/// A label is within the top k when fewer than k classes score higher. Of equal scores the first class is higher;
/// an array with a NaN is never a hit.
struct TopHits {
  int k = 1;
  size_t baseline = 0, quantized = 0;  ///< hits
};

struct Accuracy {
  size_t decisions = 0;  ///< labels that were compared
  size_t classes = 0;
  std::vector<TopHits> top;
  size_t agreements = 0;  ///< decisions in which both have the same highest class
};

/// One output of two models over all samples, as if those were one array.
struct OutputMetrics {
  std::string name;
  size_t samples = 0;
  double cosine = 0, sqnr_db = 0, l2 = 0, max_abs = 0;
  uint64_t same_not_finite = 0, different_not_finite = 0;  ///< as in PairMetrics
};

using EvaluateProgress = std::function<bool(const Progress&)>;  ///< returns false to interrupt; may be empty

struct EvaluateRequest {
  std::string baseline_folder, quantized_folder;
  bool compat = false;  ///< the reference's own definitions
  AccuracyRequest accuracy = {};
  int threads = 0;  ///< 0: the cores that are free. Results do not depend on it
  EvaluateProgress progress = {};
};

struct EvaluateModelsRequest {
  std::string float_path, quantized_path;
  std::optional<std::string> float_bytes = {}, quantized_bytes = {};  ///< serialized models, instead of the files
  std::string data_folder;          ///< samples, as quantize() and run_model() read them
  SampleSource sample_source = {};  ///< samples from memory, instead of a folder
  std::string config;               ///< what `quantized_path` was made with: preprocessing, rewrites before layers
  std::vector<std::string> settings = {};  ///< "key=value", stronger than `config`: "preprocess=imagenet"
  size_t limit = 0;                        ///< first so many samples; 0: all
  bool layers = false;                     ///< compare the tensors inside, too
  AccuracyRequest accuracy = {};
  Metric metric = {};  ///< of the caller's own: its mean is in the report; may be empty
  int threads = 0;
  int64_t memory_ceiling = 0;  ///< as in QuantizeRequest
  EvaluateProgress progress = {};
};

struct EvaluateReport {
  std::vector<PairMetrics> pairs;  ///< in file-name order; of models by sample, then output
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;  ///< all are NaN when any pair's is
  std::optional<Accuracy> accuracy;
  std::optional<double> metric;         ///< mean of the request's metric over the samples
  std::vector<OutputMetrics> outputs;   ///< of models
  std::vector<TensorAgreement> layers;  ///< of models, the noisiest first
  std::vector<Finding> findings;
};

/// Pairs each .npy, .png, .jpg and .jpeg file below the baseline folder, at any depth, with the one of the same path
/// below the quantized folder; files that only that one has are counted in a finding. Two arrays a thread are in memory
/// at a time. Fails with kBadData when there is nothing to compare, or naming every file that is missing, unreadable,
/// empty or of another shape.
QUARKQ_EXPORT Result<EvaluateReport> evaluate(const EvaluateRequest& request);

/// Runs both models over the samples. Fails as loading and running do, with kBadData when outputs have other shapes.
QUARKQ_EXPORT Result<EvaluateReport> evaluate_models(const EvaluateModelsRequest& request);

/// The report as JSON, keys in a fixed order. NaN and infinities become null.
QUARKQ_EXPORT std::string to_json(const EvaluateReport& report);
/// A header and a row per pair (RFC 4180 quoting, LF line ends). NaN and infinities print as "nan" and "inf".
QUARKQ_EXPORT std::string pairs_csv(const EvaluateReport& report);
/// The same for the layers.
QUARKQ_EXPORT std::string layers_csv(const EvaluateReport& report);

// score(): how good results are, measured against what is known to be right (labels, boxes, masks, texts) or by a
// command of the caller's.

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
  int64_t memory_ceiling = 0;  ///< as in QuantizeRequest
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
