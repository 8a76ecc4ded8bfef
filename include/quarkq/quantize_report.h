// SPDX-License-Identifier: MIT
// What quantize() reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/check.h"
#include "quarkq/inspect.h"
#include "quarkq/status.h"

namespace quarkq {

struct Finding {
  bool is_warning = false;
  std::string id, subject, text;
};

/// Agreement with the float model: the worst output, over all samples compared.
struct Agreement {
  double cosine = 0;
  double sqnr_db = 0;
  double same_choices = 1;  ///< as in OutputAgreement; 1 where no output makes choices
};

/// Agreement of one output of the quantized model with the float one's, over several samples.
struct OutputAgreement {
  std::string name;
  double cosine = 0;         ///< mean over the samples
  double sqnr_db = 0;        ///< signal to quantization noise ratio, all samples as one array
  double min_cosine = 0;     ///< of the worst sample
  std::string worst_sample;  ///< its name
  bool near_zero = false;    ///< the float output is almost zero on all samples, so the cosine is meaningless
  /// Of the channels of small magnitude, all samples as one array; where outputs have two magnitudes (scores, boxes).
  std::optional<Agreement> minor = {};
  /// Of a Softmax: share of the rows, of those in which the float model is sure, with the same class. Absent below 32.
  std::optional<double> same_choices = {};
  /// Places, in all samples, where both models give NaN or the same infinity, and places where only one does. Cosine
  /// and SQNR leave them out, but a cosine is multiplied by the share of places that can be compared.
  size_t same_not_finite = 0, different_not_finite = 0;
};

/// Agreement of one inner tensor, over a few calibration samples. In decibels; infinity is no noise at all.
struct TensorAgreement {
  std::string name;        ///< as in the float model
  std::string node;        ///< its producer: "node conv5 (Conv)"
  double sqnr_db = 0;      ///< as its readers get it
  double written_db = 0;   ///< as its producer writes it, before its own Q/DQ pair
  double inputs_db = 0;    ///< the noisiest input of its producer
  double cosine = 0;       ///< as its readers get it
  bool is_masked = false;  ///< its noise does not affect its readers
};

/// A layer that AdaRound or AdaQuant trained.
struct TunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround", "adaquant"
  double error_before = 0, error_after = 0;  ///< mean squared error of the layer on held-out samples
  bool kept = false;                         ///< the new weights are in the result
  bool resumed = false;                      ///< trained by another process: an interrupted run before, or a worker
  double seconds = 0;
};

/// Effect of the training on the outputs, on held-out samples.
struct TunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;  ///< with the float outputs, averaged over samples and outputs
};

/// The remedies applied because the outputs had collapsed (docs/guards.md).
struct RescueReport {
  Agreement before, after;                      ///< on the same calibration samples
  size_t samples = 0;                           ///< that they were compared on
  std::vector<std::string> float_changes;       ///< settings of the float model that changed: "key=value"
  std::string rounding;                         ///< quarkq.rounding where that changed
  bool channel_scales = false;                  ///< weights have a scale per channel
  std::vector<std::string> tensors_in_16_bits;  ///< activations, by name
  std::vector<std::string> float_nodes;         ///< by their names in the model as loaded
  size_t unnamed_float_nodes = 0;               ///< float nodes without a name, which settings cannot select
  double float_macs = 0;                        ///< their share of all multiply-accumulates, 0 to 1
  double macs_in_16_bits = 0;                   ///< the share of the nodes that read or write these activations
  size_t islands = 0;                           ///< connected parts that the changed nodes make
  std::vector<std::string> settings;  ///< "key=value", for `settings`: a run without rescue that gives the same model
  /// File with these settings and those of the run, "<output>.rescued.yaml", where they name single nodes or tensors;
  /// empty if no file was written.
  std::string settings_path;
  double seconds = 0;
};

/// A setting that is not the default.
struct SettingValue {
  std::string name, value, origin;  ///< value as in a settings file; origin: "preset", "file", "--set", "forced", ...
};

/// The values of one quantized tensor, and the range that its format covers.
struct TensorProfile {
  std::string name, role, type;       ///< "conv1_y", "activation", "INT8"; block formats by their name
  std::optional<double> least, most;  ///< of the finite float values: of activations on the first sample
  std::optional<double> low, high;    ///< ends of the quantized range; absent for formats without integers
  size_t channels = 1;                ///< with a scale of their own; the range is then the widest one
  std::vector<uint32_t> counts;       ///< in equal bins from least to most; activations are thinned out
  /// Share of the values outside of the range, and of the integers that no value takes. Absent for block formats, and
  /// where channels have scales of their own.
  std::optional<double> clipped, unused;
};

/// An output on one sample.
struct SampleAgreement {
  std::string sample, output;
  double cosine = 0;
};

/// An image output of both models, thinned out, both scaled so that `low` to `high` of the float one is 0 to 255.
struct OutputPicture {
  std::string sample, output;
  size_t width = 0, height = 0, channels = 0;  ///< 1 or 3
  double low = 0, high = 0;
  std::vector<uint8_t> expected, found;  ///< [height, width, channels]
};

/// What the HTML report shows (docs/report.md).
struct ReportDetails {
  std::vector<SettingValue> settings;
  std::vector<TensorAgreement> tensors;    ///< every tensor that both models have, in node order
  std::vector<TensorProfile> profiles;     ///< in the order of the plan
  std::vector<ExplainedTensor> decisions;  ///< what was decided about each tensor, quantized or not
  std::vector<SampleAgreement> samples;    ///< by sample, then by output
  std::vector<OutputPicture> pictures;     ///< of the first samples
  std::optional<CheckReport> limits;       ///< of the NPU that the preset is for
};

enum class Grade { kGood, kFair, kPoor };

/// The verdict of the comparison with the float model (docs/report.md has the rule).
struct Verdict {
  Grade grade = Grade::kPoor;
  std::string why;   ///< "worst sample 0.9712, below 0.98"
  std::string next;  ///< what to try next, a command or a sentence
};

/// "good", "fair", "poor".
QUARKQ_EXPORT const char* grade_name(Grade grade);

/// Nodes of one operator in the model as loaded.
struct OperatorCount {
  size_t total = 0, quantized = 0;
};

/// Statistics of one input of the model over the samples that were read.
struct InputReport {
  std::string name, type;               ///< "images", "FLOAT"
  std::vector<int64_t> shape;           ///< of a sample; -1 where samples differ
  size_t samples = 0;                   ///< that were read
  double least = 0, most = 0;           ///< of the finite values
  std::vector<double> mean, deviation;  ///< by channel of an image, else one each
};

/// Metrics of the outputs over the evaluation samples, as evaluate() computes them.
struct EvalMetrics {
  size_t samples = 0;
  std::string folder;  ///< of the samples; empty: those of the calibration, or from memory
  double mean_cosine = 0, min_cosine = 0, mean_l2 = 0, max_l2 = 0;
  double mean_psnr = 0, min_psnr = 0, mean_ssim = 0, min_ssim = 0;  ///< of the pairs of outputs; PairMetrics
};

struct PassTime {
  std::string name;
  double seconds = 0;
  bool changed = false;
  size_t nodes_before = 0, nodes_after = 0;
};

struct QuantizeReport {
  std::string model;  ///< the serialized result when the request has `in_memory`
  std::string model_path, output_path, preset, quantizer, isa;
  size_t samples = 0;
  int threads = 0;
  std::string threads_why;  ///< why fewer than cores were taken; empty: one each, or as asked for
  int64_t input_opset = 0, output_opset = 0;
  std::map<std::string, int> float_ops, quantized_ops;
  std::map<std::string, int> tensors_by_type;      ///< "activation INT8" -> count
  size_t nodes_quantized = 0, nodes_total = 0;     ///< of the model as loaded, without Constant nodes
  size_t nodes_folded = 0;                         ///< those of which the rewrites of the float model left nothing
  std::map<std::string, OperatorCount> operators;  ///< the same by operator
  size_t calibrated_tensors = 0;                   ///< activations whose range was measured
  uint64_t model_bytes = 0, output_bytes = 0;      ///< with external data
  bool external_data = false;
  bool nothing_to_quantize = false;          ///< the float model was copied
  std::vector<InputReport> inputs;           ///< empty without samples
  std::vector<std::string> sample_cautions;  ///< why the samples do not suit calibration: random, few, constant
  std::vector<OutputAgreement> outputs;
  std::optional<double> metric;        ///< mean of the request's metric over the samples compared
  std::optional<Verdict> verdict;      ///< absent when outputs were not compared
  std::optional<TargetReport> target;  ///< what it would run: the one asked for, else what the preset is for, if any
  std::string tail_path;               ///< of the model that decodes the outputs, with legalize.tail=cut; else empty
  bool target_is_default = false;      ///< nobody asked for that target
  size_t compared_samples = 0;         ///< that `outputs` are judged on; 0: they were not compared
  std::string compared_folder;         ///< where those are; empty: among the calibration samples
  std::vector<TensorAgreement> worst_tensors;  ///< the noisiest ones, the noisiest first
  std::vector<TensorAgreement> causes;         ///< where the signal drops, in node order
  std::vector<TunedLayer> tuned_layers;
  std::optional<TunedOutputs> tuned_outputs;  ///< absent without tuned layers and in compat mode
  std::optional<RescueReport> rescue;         ///< absent when there was no rescue
  std::vector<PassTime> phases;
  std::vector<Finding> findings;
  double seconds = 0;
  std::optional<ReportDetails> details;           ///< when asked for
  std::optional<EvalMetrics> metrics;             ///< with the setting EvalMetrics
  std::optional<std::vector<NodeFormats>> nodes;  ///< with the setting debug_mode: of the written model
  bool prints_tables = true;                      ///< the setting print_summary
};

}  // namespace quarkq
