// SPDX-License-Identifier: MIT
// analyze(): which layers degrade the outputs most when they are quantized, and settings that exclude those.
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

// calibrate(): statistics of a model's tensors into a file, over all samples or a shard of them; merge_statistics():
// shards into one. quantize() accepts the result instead of samples.

/// Sample number n of the data belongs to shard n mod count.
struct Shard {
  uint64_t index = 0;  ///< taken modulo count, so that indices from 0 or from 1 both cover all samples
  uint64_t count = 1;  ///< > 0
};

struct CalibrateRequest {
  std::string model_path;                  ///< when `model_bytes` are given: name of the model in messages
  std::optional<std::string> model_bytes;  ///< as in QuantizeRequest
  bool requantize = false;                 ///< as in QuantizeRequest
  SampleSource sample_source;              ///< samples from memory, instead of a folder
  std::string output_path;
  std::string config;                 ///< as in QuantizeRequest
  std::vector<std::string> settings;  ///< "key=value", stronger than `config`
  std::string calib_folder;           ///< samples; empty: what the config says
  Shard shard;
  int threads = 0;                                ///< 0: the cores that are free
  int64_t memory_ceiling = 0;                     ///< as in QuantizeRequest
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
  FailureSink on_failure;                         ///< may be empty
};

struct CalibrateReport {
  std::string output_path;
  size_t tensors = 0;
  uint64_t samples = 0;        ///< in the file
  uint64_t total_samples = 0;  ///< of the whole data
  uint64_t values = 0;         ///< observed, finite or not
  uint64_t bytes = 0;          ///< of the file
  std::vector<Finding> findings;
  double seconds = 0;
};

/// The file is complete or absent. kBadData when the shard has no sample.
QUARKQ_EXPORT Result<CalibrateReport> calibrate(const CalibrateRequest& request);

struct MergeRequest {
  std::vector<std::string> parts;
  std::string output_path;
  bool allow_other_isa = false;  ///< parts of different instruction sets
};

/// Any partition of the samples gives the same bytes. kBadData names the part that does not fit, and the difference.
QUARKQ_EXPORT Result<CalibrateReport> merge_statistics(const MergeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CalibrateReport& report);

enum class AnalyzeMode {
  kOneQuantized,  ///< each layer alone is quantized: the error it causes by itself
  kOneFloat,      ///< each layer alone stays float: the gain of excluding it
};

struct AnalyzeRequest {
  std::string model_path;                  ///< when `model_bytes` are given: name of the model in messages
  std::optional<std::string> model_bytes;  ///< as in QuantizeRequest
  bool requantize = false;                 ///< as in QuantizeRequest
  SampleSource sample_source;              ///< samples from memory, instead of a folder
  std::string config;                      ///< as of quantize()
  std::vector<std::string> settings;       ///< "key=value", stronger than `config`
  std::string calib_folder;
  AnalyzeMode mode = AnalyzeMode::kOneQuantized;
  size_t samples = 4;                             ///< the first so many calibration samples are compared; at least 1
  double min_cosine = 0;                          ///< layers are added to leave_out until the outputs reach this cosine
  size_t most_left_out = 10;                      ///< and at most so many layers
  size_t most_blocks = 0;                         ///< contiguous parts around the most harmful layers that are named
  double most_block_macs = 0.2;                   ///< share of the multiply-accumulates that a block may have
  int threads = 0;                                ///< 0: the cores that are free
  int64_t memory_ceiling = 0;                     ///< as in QuantizeRequest
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
  FailureSink on_failure;                         ///< may be empty
};

struct LayerEffect {
  std::string node;                ///< "node conv5 (Conv)", as it was calibrated
  std::vector<std::string> names;  ///< of the nodes of the loaded model that it stands for
  Agreement outputs;               ///< in the mode asked for
  size_t place = 0;                ///< among the layers, in node order
  double mac_share = 0;            ///< of the multiply-accumulates of the model, 0 to 1
};

/// A connected part of the model without holes.
struct LayerBlock {
  std::string first, last;         ///< its ends in node order, as LayerEffect has them
  std::vector<std::string> names;  ///< of nodes of the loaded model
  double mac_share = 0;
};

struct AnalyzeReport {
  std::string model_path, preset;
  AnalyzeMode mode = AnalyzeMode::kOneQuantized;
  size_t samples = 0;
  Agreement nothing_quantized;  ///< the effect of the hardware rewrites of the float model alone
  Agreement all_quantized;
  std::vector<LayerEffect> layers;     ///< the most harmful first
  std::vector<LayerBlock> blocks;      ///< that do not overlap, the one around the most harmful layer first
  std::vector<std::string> leave_out;  ///< names of loaded nodes: the most harmful layers, as many as were needed
  Agreement left_out;                  ///< with those float and everything else quantized
  std::vector<Finding> findings;
  double seconds = 0;
};

/// Fails as quantize() does; kInvalidArgument when the settings insert no Q/DQ nodes, or name no samples.
QUARKQ_EXPORT Result<AnalyzeReport> analyze(const AnalyzeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const AnalyzeReport& report);

/// A settings file for leave_out: it keeps those nodes in float ("exclude"), or computes them with
/// another data type ("Int16": input and weight). `request`: what was analyzed.
QUARKQ_EXPORT Result<std::string> settings_file(const AnalyzeRequest& request, const AnalyzeReport& report,
                                                const std::string& data_type);

// forecast(): what quantize(), calibrate() and analyze() would do and cost, found by trying them on a few samples.
// Nothing is written.

/// Nodes of the model as loaded that stay float for one reason.
struct FloatPart {
  std::string why;                          ///< "the settings exclude them"
  std::map<std::string, size_t> operators;  ///< how many of each
  std::vector<std::string> nodes;           ///< "node conv1 (Conv)"
};

struct Forecast {
  std::string model_path, preset, quantizer;
  std::string output_path;  ///< what would be written; empty: no file
  size_t nodes_quantized = 0, nodes_total = 0, nodes_folded = 0;
  std::map<std::string, OperatorCount> operators;
  std::map<std::string, int> tensors_by_type;  ///< "activation INT8" -> count
  std::vector<FloatPart> float_parts;          ///< in the order of their first nodes
  size_t samples = 0, tried_samples = 0;       ///< of the run, and of them those that this was found with
  uint64_t model_bytes = 0;
  uint64_t output_bytes = 0;              ///< of the file that would be written, external data included
  uint64_t memory_bytes = 0;              ///< resident memory at its peak
  double seconds = 0;                     ///< of the run
  std::vector<std::string> not_included;  ///< what may make it longer: fine-tuning, a rescue
  std::vector<OutputAgreement> outputs;   ///< on the samples tried; empty when they were not compared
  std::vector<Finding> findings;
  double tried_seconds = 0;  ///< that the forecast itself took
};

/// Fails as the run would before it writes. Peak memory is that of this process, whatever else it did before.
QUARKQ_EXPORT Result<Forecast> forecast(const QuantizeRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const CalibrateRequest& request);
QUARKQ_EXPORT Result<Forecast> forecast(const AnalyzeRequest& request);

/// The forecast as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const Forecast& forecast);

}  // namespace quarkq
