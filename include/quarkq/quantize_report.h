// SPDX-License-Identifier: MIT
// The report of quantize().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/check.h"
#include "quarkq/inspect.h"
#include "quarkq/status.h"
#include "quarkq/text_agreement.h"

namespace quarkq {

struct Finding {
  bool is_warning = false;
  std::string id, subject, text;
};

enum class Grade { kGood, kFair, kPoor };

/// Agreement with the float model: the worst output, over all samples compared.
struct Agreement {
  double cosine = 0;
  double sqnr_db = 0;
  Grade task = Grade::kGood;  ///< Worst grade of OutputAgreement::task; good if no output has a task.
};

/// Agreement in what users read of an output: its largest value, its scores, its area. docs/report.md has the limits.
struct TaskAgreement {
  /// "classes" (share of the expected top-1 accuracy that is kept), "rows" (share of rows with the same class), "mask"
  /// (intersection over union), "pixels" (mean intersection over union of the classes), "picture" (PSNR in dB), "boxes"
  /// (average precision of the scores) or "text" (perplexity of the float model over that of the quantized one).
  std::string task;
  double value = 0;
  Grade grade = Grade::kGood;
  std::string text;  ///< The figure in words, with the limit that it misses.
};

/// Agreement of one output of the quantized model with the output of the float model over several samples.
struct OutputAgreement {
  std::string name;
  double cosine = 0;         ///< Mean over the samples.
  double sqnr_db = 0;        ///< Signal to quantization noise ratio of all samples taken as one array.
  double min_cosine = 0;     ///< Cosine of the worst sample.
  std::string worst_sample;  ///< Name of the worst sample.
  bool near_zero = false;    ///< The float output is almost zero on all samples, so the cosine is meaningless.
  /// Agreement of the channels with small magnitude if the channels of an output have two magnitudes (scores, boxes).
  std::optional<Agreement> minor = {};
  std::optional<TaskAgreement> task = {};  ///< Unset if no task is recognized, or if the samples are too few.
  /// Agreement over 20 frames if the outputs that are states are fed back to the inputs of the next frame. Set only for
  /// the other outputs of such models.
  std::optional<Agreement> fed_back = {};
  /// Elements of all samples where both models return NaN or the same infinity, and elements where only one model does.
  /// Cosine and SQNR exclude these elements; the cosine is then multiplied by the share of comparable elements.
  size_t same_not_finite = 0, different_not_finite = 0;
};

/// Agreement of one inner tensor over a few calibration samples. SQNR values are in decibels and infinite if there is
/// no noise.
struct TensorAgreement {
  std::string name;        ///< Name of the tensor in the float model.
  std::string node;        ///< Producer of the tensor: "node conv5 (Conv)".
  double sqnr_db = 0;      ///< SQNR of the value that the readers receive.
  double written_db = 0;   ///< SQNR of the value that the producer writes, before the Q/DQ pair of the tensor.
  double inputs_db = 0;    ///< SQNR of the noisiest input of the producer.
  double cosine = 0;       ///< Cosine of the value that the readers receive.
  bool is_masked = false;  ///< The noise does not affect the readers.
};

/// A layer that AdaRound or AdaQuant trained.
struct TunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround", "adaquant"
  double error_before = 0, error_after = 0;  ///< Mean squared error of the layer on held-out samples.
  bool kept = false;                         ///< The new weights are part of the result.
  bool resumed = false;                      ///< Trained by another process: an interrupted run or another worker.
  double seconds = 0;
};

/// Effect of the training on the outputs, measured on held-out samples.
struct TunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;  ///< Agreement with the float outputs, averaged over samples and outputs.
};

/// The remedies applied because the outputs had collapsed (docs/guards.md).
struct RescueReport {
  Agreement before, after;                      ///< Measured on the same calibration samples.
  size_t samples = 0;                           ///< Number of samples compared.
  std::vector<std::string> float_changes;       ///< Changed settings of the float rewrites: "key=value".
  std::string rounding;                         ///< New value of quarkq.rounding; empty if it did not change.
  bool searched_scales = false;                 ///< Weights now have the float scales of least squared error.
  bool channel_scales = false;                  ///< Weights now have one scale per channel.
  std::vector<std::string> tensors_in_16_bits;  ///< Names of the activations that became 16-bit.
  std::vector<std::string> float_nodes;         ///< Names in the model as loaded.
  size_t unnamed_float_nodes = 0;               ///< Float nodes without a name, which settings cannot select.
  double float_macs = 0;                        ///< Share of all multiply-accumulates in these float nodes, 0 to 1.
  double macs_in_16_bits = 0;                   ///< Share of all multiply-accumulates in nodes that read or write
                                                ///< 16-bit activations, 0 to 1.
  size_t islands = 0;                           ///< Number of connected groups of changed nodes.
  std::vector<std::string> settings;  ///< "key=value" for `settings`: a run without rescue and with these settings
                                      ///< writes the same model.
  /// File with these settings and the settings of the run, "<output>.rescued.yaml". Written only if the settings name
  /// single nodes or tensors; otherwise empty.
  std::string settings_path;
  double seconds = 0;
};

/// A setting that differs from its default.
struct SettingValue {
  std::string name, value, origin;  ///< `value` is written as in a settings file; `origin` is "preset", "file",
                                    ///< "--set", "forced", ...
};

/// The values of one quantized tensor, and the range that its format covers.
struct TensorProfile {
  std::string name, role, type;       ///< "conv1_y", "activation", "INT8"; block formats by their name
  std::optional<double> least, most;  ///< Smallest and largest finite float value. Activations: on the first sample.
  std::optional<double> low, high;    ///< Ends of the quantized range; absent for formats without integers.
  size_t channels = 1;                ///< Number of channels with a scale of their own. `low` and `high` then describe
                                      ///< the widest channel.
  std::vector<uint32_t> counts;       ///< Histogram of equal bins from `least` to `most`. Activations are subsampled.
  /// Share of the values outside of the range, and share of the integer codes that no value uses. Absent for block
  /// formats and for per-channel scales.
  std::optional<double> clipped, unused;
};

/// Agreement of one output on one sample.
struct SampleAgreement {
  std::string sample, output;
  double cosine = 0;
};

/// An image output of both models, subsampled. Both are scaled so that `low` to `high` of the float output becomes 0 to
/// 255.
struct OutputPicture {
  std::string sample, output;
  size_t width = 0, height = 0, channels = 0;  ///< `channels` is 1 or 3.
  double low = 0, high = 0;
  std::vector<uint8_t> expected, found;  ///< Pixels in the order [height, width, channels].
};

/// Contents of the HTML report (docs/report.md).
struct ReportDetails {
  std::vector<SettingValue> settings;
  std::vector<TensorAgreement> tensors;    ///< All tensors that exist in both models, in node order.
  std::vector<TensorProfile> profiles;     ///< In the order of the plan.
  std::vector<ExplainedTensor> decisions;  ///< The decisions about every tensor, quantized or not.
  std::vector<SampleAgreement> samples;    ///< Sorted by sample, then by output.
  std::vector<OutputPicture> pictures;     ///< Image outputs of the first samples.
  std::optional<CheckReport> limits;       ///< Result of the limit check for the NPU of the preset.
};

/// The verdict of the comparison with the float model. A result that its target refuses is poor. docs/report.md
/// contains the rule.
struct Verdict {
  Grade grade = Grade::kPoor;
  std::string why;   ///< Reason of the grade: "worst sample 0.9712, below 0.98".
  std::string next;  ///< Recommended next step: a command or a sentence.
};

/// Returns "good", "fair" or "poor".
QUARKQ_EXPORT const char* grade_name(Grade grade);

/// Number of nodes of one operator in the model as loaded.
struct OperatorCount {
  size_t total = 0, quantized = 0;
};

/// Statistics of one input of the model over the samples that were read.
struct InputReport {
  std::string name, type;               ///< "images", "FLOAT"
  std::vector<int64_t> shape;           ///< Shape of one sample; -1 for dimensions that differ between samples.
  size_t samples = 0;                   ///< Number of samples read.
  double least = 0, most = 0;           ///< Smallest and largest finite value.
  std::vector<double> mean, deviation;  ///< One value per channel for images, otherwise a single value.
};

/// Metrics of the outputs over the evaluation samples, computed as by evaluate().
struct EvalMetrics {
  size_t samples = 0;
  std::string folder;  ///< Folder of the samples; empty for calibration samples and samples in memory.
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;  ///< Over all pairs of outputs; PairMetrics
                                                                    ///< describes the metrics.
};

struct PassTime {
  std::string name;
  double seconds = 0;
  bool changed = false;
  size_t nodes_before = 0, nodes_after = 0;
};

struct QuantizeReport {
  std::string model;         ///< The serialized result if the request sets `in_memory`.
  std::string tail, joined;  ///< The serialized tail, and both as one model, if the model was cut (legalize.tail).
  std::string model_path, output_path, preset, quantizer, isa;
  size_t samples = 0;
  int threads = 0;
  std::string threads_why;  ///< Why fewer threads than cores were used. Empty if every core has a thread or if the
                            ///< request sets the number.
  int64_t input_opset = 0, output_opset = 0;
  std::map<std::string, int> float_ops, quantized_ops;
  std::map<std::string, int> tensors_by_type;      ///< Number of tensors per kind: "activation INT8".
  size_t nodes_quantized = 0, nodes_total = 0;     ///< Nodes of the model as loaded, without Constant nodes.
  size_t nodes_folded = 0;                         ///< Loaded nodes that the float rewrites removed completely.
  std::map<std::string, OperatorCount> operators;  ///< Node counts per operator of the model as loaded.
  size_t calibrated_tensors = 0;                   ///< Number of activations with a measured range.
  uint64_t model_bytes = 0, output_bytes = 0;      ///< Sizes including external data.
  bool external_data = false;
  bool nothing_to_quantize = false;          ///< No node was quantized; the float model was copied.
  std::vector<InputReport> inputs;           ///< One entry per input; empty without samples.
  std::vector<std::string> sample_cautions;  ///< Why the samples are unsuitable for calibration: random, few or
                                             ///< constant.
  std::vector<OutputAgreement> outputs;
  std::optional<TextAgreement> text;   ///< Absent if the model is not a language model, or its samples are not text.
  std::optional<double> metric;        ///< Mean of the request's metric over the compared samples.
  std::optional<Verdict> verdict;      ///< Absent if the outputs were not compared.
  std::optional<TargetReport> target;  ///< Prediction for the requested target, or for the target of the preset. Absent
                                       ///< if there is none.
  std::optional<Deployability> deployable;  ///< Summary of `target`.
  std::string tail_path;           ///< File of the float model with the last nodes; empty unless the model was cut.
  std::string joined_path;         ///< File of result and tail as one model; empty unless requested and cut.
  size_t tail_nodes = 0;           ///< Number of nodes that were cut off.
  bool target_is_default = false;  ///< `target` comes from the preset, not from the request.
  size_t compared_samples = 0;     ///< Number of samples compared for `outputs`; 0 if the outputs were not compared.
  std::string compared_folder;     ///< Folder of the compared samples; empty if they are calibration samples.
  std::vector<TensorAgreement> worst_tensors;  ///< The noisiest tensors, noisiest first.
  std::vector<TensorAgreement> causes;         ///< Tensors at which the signal quality drops, in node order.
  std::vector<TunedLayer> tuned_layers;
  std::optional<TunedOutputs> tuned_outputs;  ///< Absent if no layer was tuned and in compat mode.
  std::optional<RescueReport> rescue;         ///< Absent if no rescue took place.
  std::vector<PassTime> phases;
  std::vector<Finding> findings;
  double seconds = 0;
  std::optional<ReportDetails> details;           ///< Set if the request sets `details`.
  std::optional<EvalMetrics> metrics;             ///< Set if the setting EvalMetrics is on.
  std::optional<std::vector<NodeFormats>> nodes;  ///< Formats of the written model; set if the setting debug_mode is
                                                  ///< on.
  bool prints_tables = true;                      ///< The setting print_summary.
};

}  // namespace quarkq
