// SPDX-License-Identifier: MIT
// convert(): applies conversions selected by name, in order, to a finished float or quantized model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/intervals.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

/// run(): runs a float or quantized model on a folder of samples and writes the results as .npy files.
struct RunRequest {
  std::string model_path;                  ///< If `model_bytes` is set, the name of the model in messages.
  std::optional<std::string> model_bytes;  ///< The serialized model including its weights; replaces the file.
  std::string input_folder;
  SampleSource sample_source;         ///< Samples in memory; replaces the folder.
  std::string config;                 ///< File or preset whose blocks `calibration` and `preprocess` describe how
                                      ///< samples are read.
  std::vector<std::string> settings;  ///< "key=value"; each overrides `config`: "preprocess=imagenet".
  std::string output_folder;  ///< Created if missing. Files are DIR/<sample>.npy, or DIR/<output>/<sample>.npy for
                              ///< several outputs.
  /// Receives the results of each sample instead of writing files to `output_folder`. A returned error ends the run.
  std::function<Status(const std::string& sample, const std::vector<SampleTensor>& results)> on_result;
  int threads = 0;             ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;  ///< See QuantizeRequest.
  size_t limit = 0;            ///< Number of samples to run, from the first; 0: all.
  int64_t max_memory = 0;      ///< Upper bound in bytes for intermediate values and results; 0: the memory of the
                               ///< machine or container.
  int repeat = 1;              ///< Number of runs per sample, for timing. The results do not change.
  std::function<bool(const Progress&)> progress;
};

struct RunReport {
  size_t samples = 0;
  std::vector<std::string> outputs;
  std::vector<double> milliseconds;  ///< Duration of each run, inference only.
  size_t arena_bytes = 0;            ///< Memory for intermediate values; 0 if another runtime manages it.
  std::string backend;               ///< Runtime used: "native" or "onnxruntime 1.23.0 (CPUExecutionProvider)".
  /// Output name -> folder, for outputs whose folder has a number because another output has the same spelling.
  std::map<std::string, std::string> renamed = {};
  std::vector<Finding> findings = {};  ///< Files that were found among the samples and not used.
};

QUARKQ_EXPORT Result<RunReport> run_model(const RunRequest& request);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const RunReport& report);

/// Metrics of one pair of arrays (ref:evaluation#metrics). Sums are computed in double. With `compat` the reference's
/// definitions apply and values are rounded to float32.
struct PairMetrics {
  std::string file;   ///< Path relative to both folders. For models the sample, or "<output>/<sample>" for several
                      ///< outputs.
  double cosine = 0;  ///< Cosine of the flattened arrays. 1 if both norms are zero, 0 if one is; with `compat` NaN.
  double l2 = 0;      ///< Norm of baseline - quantized, not normalized.
  /// Decibels: 20 log10(peak) - 10 log10(mean squared error). Peak and error are at least 1e-10, so equal arrays have a
  /// finite value. `peak` is the baseline's largest magnitude; with `compat` its largest signed value.
  double psnr = 0;
  /// Structural similarity in a Gaussian window of 11 x 11 (sigma 1.5), with constants for values of 0 to 255. Rank 2
  /// is one image, rank 3 is [H, W, C]; from rank 4 on the last two dimensions are H and W, and the result is the mean
  /// over all images. With `compat` blurred squares and products replace variances and covariance.
  double ssim = 0;
  double sqnr_db = 0;      ///< 10 log10(sum baseline^2 / sum error^2); infinite for equal arrays.
  double max_abs = 0;      ///< Largest absolute difference of two elements.
  bool is_choice = false;  ///< The elements are booleans or integers of at least 32 bits: indices, classes, counts.
  /// Elements where both arrays contain NaN or the same infinity, and elements where only one does. The metrics exclude
  /// the first kind. With the second kind, the cosine is multiplied by the share of comparable elements and the other
  /// metrics are NaN. With `compat` both counts are 0.
  uint64_t same_not_finite = 0, different_not_finite = 0;
};

/// Ground truth and parameters for measuring accuracy.
struct AccuracyRequest {
  std::string labels_path;  ///< A .npy file of integers, or a text file with "label" or "name,label" per line; empty:
                            ///< accuracy is not measured.
  std::vector<int> top;     ///< Values of k; empty: 1, and additionally 5 if there are more than 5 classes.
  std::string output;       ///< Output that contains the scores, if there are several; empty: all outputs.
  double confidence = kConfidence;  ///< Confidence of all intervals, including the means: 0.5 to 0.99.
};

/// Top-k accuracy: the label counts as a hit if fewer than k classes score higher. Among equal scores the lower class
/// index ranks higher. An array that contains NaN is never a hit.
struct TopHits {
  int k = 1;
  size_t baseline = 0, quantized = 0;                                       ///< Number of hits.
  std::optional<Interval> baseline_interval = {}, quantized_interval = {};  ///< Intervals of the shares.
  std::optional<ScoreDifference> difference = {};                           ///< Share of quantized - share of baseline.
};

struct Accuracy {
  size_t decisions = 0;  ///< Number of labels compared.
  size_t classes = 0;
  std::vector<TopHits> top;
  size_t agreements = 0;            ///< Decisions in which both models have the same highest class.
  double confidence = kConfidence;  ///< Confidence of the intervals.
  std::optional<Interval> agreement_interval = {};
  Resamples quantized_top1 = {};  ///< Draws of the quantized share for k = 1, if that was counted.
};

/// Metrics of one output of two models, with all samples taken as one array.
struct OutputMetrics {
  std::string name;
  size_t samples = 0;
  double cosine = 0, sqnr_db = 0, l2 = 0, max_abs = 0;
  uint64_t same_not_finite = 0, different_not_finite = 0;  ///< Counted as in PairMetrics.
};

using EvaluateProgress = std::function<bool(const Progress&)>;  ///< Returns false to interrupt; may be empty.

struct EvaluateRequest {
  std::string baseline_folder, quantized_folder;
  bool compat = false;  ///< Use the reference's definitions of the metrics.
  AccuracyRequest accuracy = {};
  int threads = 0;  ///< Number of threads; 0: one per free core. Results do not depend on it.
  EvaluateProgress progress = {};
};

struct EvaluateModelsRequest {
  std::string float_path, quantized_path;
  std::optional<std::string> float_bytes = {}, quantized_bytes = {};  ///< Serialized models; replace the files.
  std::string data_folder;          ///< Folder of samples, read as by quantize() and run_model().
  SampleSource sample_source = {};  ///< Samples in memory; replaces the folder.
  std::string config;               ///< Settings with which `quantized_path` was made: preprocessing, and the rewrites
                                    ///< needed to compare layers.
  std::vector<std::string> settings = {};  ///< "key=value"; each overrides `config`: "preprocess=imagenet".
  size_t limit = 0;                        ///< Number of samples to compare, from the first; 0: all.
  bool layers = false;                     ///< Compare inner tensors as well.
  AccuracyRequest accuracy = {};
  Metric metric = {};  ///< Metric of the caller, reported as its mean; may be empty.
  int threads = 0;
  int64_t memory_ceiling = 0;  ///< See QuantizeRequest.
  EvaluateProgress progress = {};
};

struct EvaluateReport {
  std::vector<PairMetrics> pairs;  ///< Sorted by file name; for models by sample, then by output.
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;  ///< All are NaN if one pair is NaN.
  double confidence = kConfidence;                                  ///< Confidence of the intervals.
  /// Intervals of the means. Absent for fewer than 2 samples.
  std::optional<Interval> cosine_interval, l2_interval, psnr_interval, ssim_interval;
  std::optional<Accuracy> accuracy;
  std::optional<double> metric;         ///< Mean of the request's metric over the samples.
  std::vector<double> metric_values;    ///< The request's metric of each sample.
  std::vector<OutputMetrics> outputs;   ///< Comparisons of models only.
  std::vector<TensorAgreement> layers;  ///< Comparisons of models only; the noisiest layer first.
  std::vector<Finding> findings;
};

/// Compares each .npy, .png, .jpg and .jpeg file below the baseline folder, at any depth, with the file of the same
/// relative path below the quantized folder. Files that exist only in the quantized folder are counted in a finding.
/// Each thread keeps two arrays in memory. Fails with kBadData if there are no pairs; the message names every file that
/// is missing, unreadable, empty or of another shape.
QUARKQ_EXPORT Result<EvaluateReport> evaluate(const EvaluateRequest& request);

/// Runs both models on the samples and compares their outputs. Fails if a model cannot be loaded or run, and with
/// kBadData if outputs differ in shape.
QUARKQ_EXPORT Result<EvaluateReport> evaluate_models(const EvaluateModelsRequest& request);

/// Returns the report as JSON with keys in a fixed order. NaN and infinities become null.
QUARKQ_EXPORT std::string to_json(const EvaluateReport& report);
/// Returns a header and one row per pair (RFC 4180 quoting, LF line ends). NaN and infinities appear as "nan" and
/// "inf".
QUARKQ_EXPORT std::string pairs_csv(const EvaluateReport& report);
/// Returns a header and one row per layer, in the format of pairs_csv().
QUARKQ_EXPORT std::string layers_csv(const EvaluateReport& report);

// score(): measures results against ground truth (labels, boxes, masks, texts) or with a command of the caller.

/// How boxes are decoded from the outputs of a detector.
struct DetectorRequest {
  std::string head = {};     ///< Layout of the outputs: a name listed by `quarkq list heads`.
  double min_score = 0.001;  ///< Boxes with a lower score are discarded.
  double nms_iou = 0.65;     ///< If boxes of one class overlap by more than this IoU, only the highest-scoring box is
                             ///< kept.
};

struct MetricRequest {
  std::vector<std::string> names = {};  ///< Names listed by `quarkq list metrics`.
  std::string truth_path = {};          ///< Ground truth for the metrics: a file or a folder.
  std::string output = {};              ///< Output to score if there are several.
  DetectorRequest detector = {};
  std::string classes_path = {};   ///< File with one class name per line, required if the boxes are stored in a folder.
  std::string alphabet_path = {};  ///< File with one symbol per line for text recognizers; the first line is class 1.
  std::string command = {};        ///< Prints one number. "{results}" in a word is replaced by the folder of results.
  double command_seconds = 600;    ///< Timeout in seconds; a slower command is an error.
  Metric function = {};            ///< Compares two models; may be empty.
  double confidence = kConfidence;  ///< Confidence of the intervals, above 0.5 and below 1.
};

/// One or two sides: models (paths ending in .onnx, or bytes), or folders of results.
struct ScoreRequest {
  std::string baseline;  ///< Empty: only `results` are scored.
  std::string results;
  std::optional<std::string> baseline_bytes = {}, results_bytes = {};  ///< Serialized models; replace the files.
  std::string data_folder;                                             ///< Folder of samples for models.
  SampleSource sample_source = {};                                     ///< Samples in memory; replaces the folder.
  std::string config;                                                  ///< Settings that specify the preprocessing; may
                                                                       ///< be empty.
  std::vector<std::string> settings = {};  ///< "key=value"; each overrides `config`: "preprocess=imagenet".
  size_t limit = 0;                        ///< Number of samples, from the first; 0: all.
  MetricRequest metric = {};
  int threads = 0;
  int64_t memory_ceiling = 0;  ///< See QuantizeRequest.
  EvaluateProgress progress = {};
};

struct MetricValue {
  std::string name, unit = {};
  bool higher_is_better = true;
  std::optional<double> baseline = {};  ///< Absent if there is only one side, and for metrics that compare two sides.
  double value = 0;
  /// Absent for the number of a command, and for fewer than 2 samples.
  std::optional<Interval> interval = {}, baseline_interval = {};
  std::optional<ScoreDifference> difference = {};  ///< `value` - `baseline`; absent if the sides have other samples.
  Resamples resamples = {};                        ///< Draws of `value`.
};

struct ScoreReport {
  size_t samples = 0;
  double confidence = kConfidence;   ///< Confidence of the intervals.
  std::vector<MetricValue> metrics;  ///< In the order of the request, followed by the values of the command and the
                                     ///< function.
  std::vector<Finding> findings;
};

/// Name of the command's value among the metrics.
inline constexpr const char kCommandMetric[] = "command";
/// Name of the function's value among the metrics.
inline constexpr const char kFunctionMetric[] = "metric";

/// Scores one or two sides. Fails with kInvalidArgument for unknown metrics and missing options; with kBadData if truth
/// or results cannot be read or do not match, and if the command fails, exceeds its timeout or does not print exactly
/// one number.
QUARKQ_EXPORT Result<ScoreReport> score(const ScoreRequest& request);

/// Returns the report as JSON with keys in a fixed order. NaN and infinities become null.
QUARKQ_EXPORT std::string to_json(const ScoreReport& report);

}  // namespace quarkq
