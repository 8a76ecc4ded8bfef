// SPDX-License-Identifier: MIT
// analyze(): which layers degrade the outputs most when they are quantized, and settings that exclude those.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

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

}  // namespace quarkq
