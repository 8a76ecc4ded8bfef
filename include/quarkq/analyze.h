// SPDX-License-Identifier: MIT
// analyze(): reports which layers degrade the outputs most when they are quantized, and settings that exclude these
// layers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/check.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

// calibrate(): collects statistics of a model's tensors over all samples or a shard and writes them to a file;
// merge_statistics() merges the files of shards. quantize() accepts the file instead of samples.

/// Sample number n of the data belongs to shard n mod count.
struct Shard {
  uint64_t index = 0;  ///< Taken modulo `count`, so that indices starting at 0 or at 1 both cover all samples.
  uint64_t count = 1;  ///< Greater than 0.
};

struct CalibrateRequest {
  std::string model_path;                  ///< If `model_bytes` is set, the name of the model in messages.
  std::optional<std::string> model_bytes;  ///< The serialized model including its weights; replaces the file.
  bool requantize = false;                 ///< Accepts a quantized model: removes its Q/DQ nodes first.
  SampleSource sample_source;              ///< Samples in memory; replaces the folder.
  std::string output_path;
  std::string config;                 ///< A file if it exists, otherwise the name of a preset with or without ".yaml".
  std::vector<std::string> settings;  ///< "key=value"; each overrides `config`.
  std::string calib_folder;           ///< Folder of samples; empty: the folder of the config.
  Shard shard;
  int threads = 0;                                ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;                     ///< See QuantizeRequest.
  std::function<bool(const Progress&)> progress;  ///< Returns false to interrupt the run; may be empty.
  FailureSink on_failure;                         ///< May be empty.
};

struct CalibrateReport {
  std::string output_path;
  size_t tensors = 0;
  uint64_t samples = 0;        ///< Number of samples in the file.
  uint64_t total_samples = 0;  ///< Number of samples in the whole data set.
  uint64_t values = 0;         ///< Number of values observed, finite or not.
  uint64_t bytes = 0;          ///< Size of the file.
  std::vector<Finding> findings;
  double seconds = 0;
};

/// Collects statistics. Afterwards the file is complete or absent. Fails with kBadData if the shard contains no sample.
QUARKQ_EXPORT Result<CalibrateReport> calibrate(const CalibrateRequest& request);

struct MergeRequest {
  std::vector<std::string> parts;
  std::string output_path;
  bool allow_other_isa = false;  ///< Accept parts that were collected with different instruction sets.
};

/// Merges statistics. Every partition of the samples gives the same bytes. Fails with kBadData if a part does not
/// match; the message names the part and the difference.
QUARKQ_EXPORT Result<CalibrateReport> merge_statistics(const MergeRequest& request);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CalibrateReport& report);

enum class AnalyzeMode {
  kOneQuantized,  ///< Quantizes one layer at a time: the error that the layer causes by itself.
  kOneFloat,      ///< Keeps one layer at a time in float: the gain of excluding it.
};

struct AnalyzeRequest {
  std::string model_path;                  ///< If `model_bytes` is set, the name of the model in messages.
  std::optional<std::string> model_bytes;  ///< The serialized model including its weights; replaces the file.
  bool requantize = false;                 ///< Accepts a quantized model: removes its Q/DQ nodes first.
  SampleSource sample_source;              ///< Samples in memory; replaces the folder.
  std::string config;                      ///< A file if it exists, otherwise the name of a preset with or without
                                           ///< ".yaml".
  std::vector<std::string> settings;       ///< "key=value"; each overrides `config`.
  std::string calib_folder;
  AnalyzeMode mode = AnalyzeMode::kOneQuantized;
  size_t samples = 4;                             ///< Number of calibration samples to compare, from the first; at
                                                  ///< least 1.
  double min_cosine = 0;                          ///< Layers are added to `leave_out` until the outputs reach this
                                                  ///< cosine.
  size_t most_left_out = 10;                      ///< Upper bound on the number of layers in `leave_out`.
  size_t most_blocks = 0;                         ///< Number of contiguous blocks around the most harmful layers to
                                                  ///< report.
  double most_block_macs = 0.2;                   ///< Upper bound on the share of the multiply-accumulates in one
                                                  ///< block, 0 to 1.
  int threads = 0;                                ///< Number of threads; 0: one per free core.
  int64_t memory_ceiling = 0;                     ///< See QuantizeRequest.
  std::function<bool(const Progress&)> progress;  ///< Returns false to interrupt the run; may be empty.
  FailureSink on_failure;                         ///< May be empty.
};

struct LayerEffect {
  std::string node;                ///< "node conv5 (Conv)", named as in the calibrated model.
  std::vector<std::string> names;  ///< Names of the nodes in the loaded model that the layer consists of.
  Agreement outputs;               ///< Agreement in the requested mode.
  size_t place = 0;                ///< Index among the layers in node order.
  double mac_share = 0;            ///< Share of the model's multiply-accumulates, 0 to 1.
};

/// A connected part of the model without holes.
struct LayerBlock {
  std::string first, last;         ///< Its first and last layer in node order, named as in LayerEffect.
  std::vector<std::string> names;  ///< Names of nodes in the loaded model.
  double mac_share = 0;
};

struct AnalyzeReport {
  std::string model_path, preset;
  AnalyzeMode mode = AnalyzeMode::kOneQuantized;
  size_t samples = 0;
  Agreement nothing_quantized;  ///< The effect of only the hardware rewrites of the float model.
  Agreement all_quantized;
  std::vector<LayerEffect> layers;     ///< The most harmful layer first.
  std::vector<LayerBlock> blocks;      ///< Disjoint; the block around the most harmful layer first.
  std::vector<std::string> leave_out;  ///< Names of loaded nodes: the most harmful layers, as many as necessary.
  Agreement left_out;                  ///< Agreement with these nodes in float and everything else quantized.
  std::vector<Finding> findings;
  double seconds = 0;
};

/// Measures the effect of each layer. Fails as quantize() does, and with kInvalidArgument if the settings insert no
/// Q/DQ nodes or specify no samples.
QUARKQ_EXPORT Result<AnalyzeReport> analyze(const AnalyzeRequest& request);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const AnalyzeReport& report);

/// Returns a settings file for `leave_out` that keeps these nodes in float ("exclude") or computes them with another
/// data type ("Int16": input and weight). `request` is the analyzed request.
QUARKQ_EXPORT Result<std::string> settings_file(const AnalyzeRequest& request, const AnalyzeReport& report,
                                                const std::string& data_type);

// forecast(): predicts what quantize(), calibrate() and analyze() would do and cost, from a trial on a few samples.
// Writes nothing.

/// Nodes of the loaded model that stay float for the same reason.
struct FloatPart {
  std::string why;                          ///< The reason: "the settings exclude them".
  std::map<std::string, size_t> operators;  ///< Number of nodes per operator.
  std::vector<std::string> nodes;           ///< "node conv1 (Conv)"
};

struct Forecast {
  std::string model_path, preset, quantizer;
  std::string output_path;  ///< Path of the file that would be written; empty: no file.
  size_t nodes_quantized = 0, nodes_total = 0, nodes_folded = 0;
  std::map<std::string, OperatorCount> operators;
  std::map<std::string, int> tensors_by_type;  ///< Number of tensors per kind: "activation INT8".
  std::vector<FloatPart> float_parts;          ///< In the order of their first nodes.
  size_t samples = 0, tried_samples = 0;       ///< Samples of the run, and samples used for the forecast.
  uint64_t model_bytes = 0;
  uint64_t output_bytes = 0;              ///< Size of the file that would be written, including external data.
  uint64_t memory_bytes = 0;              ///< Peak resident memory.
  double seconds = 0;                     ///< Duration of the run.
  std::vector<std::string> not_included;  ///< Work that may add to the duration: fine-tuning, a rescue.
  std::vector<OutputAgreement> outputs;   ///< Agreement on the tried samples; empty if the outputs were not compared.
  /// Prediction for the target, without a rescue. Nullopt without a target, and for forecasts of other verbs.
  std::optional<Deployability> deployable;
  std::vector<Finding> findings;
  double tried_seconds = 0;  ///< Duration of the forecast itself.
};

/// Predicts a run. Fails for the reasons that stop the run before it writes. The peak memory includes all earlier work
/// of this process.
QUARKQ_EXPORT Result<Forecast> forecast(const QuantizeRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const CalibrateRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const AnalyzeRequest& request);

/// Returns the forecast as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const Forecast& forecast);

}  // namespace quarkq
