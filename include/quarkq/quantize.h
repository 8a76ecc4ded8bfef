// SPDX-License-Identifier: MIT
// quantize(): float ONNX model in, quantized ONNX model out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/check.h"
#include "quarkq/explain.h"
#include "quarkq/export.h"
#include "quarkq/samples.h"
#include "quarkq/status.h"

namespace quarkq {

/// How far a run is. `total` is 0 when it is not known.
struct Progress {
  std::string phase;  ///< "load", "calibrate", ...
  size_t done = 0;
  size_t total = 0;
};

struct QuantizeRequest {
  std::string model_path;                  ///< when `model_bytes` are given: what messages call the model
  std::optional<std::string> model_bytes;  ///< the serialized model, instead of the file; weights inside
  bool in_memory = false;                  ///< the result goes into QuantizeReport::model, and no file is written
  std::string output_path;                 ///< empty: "<stem>_quantized.onnx" beside the model
  std::string config;                      ///< a file if it exists, else a preset name with or without ".yaml"
  std::vector<std::string> settings;       ///< "key=value", stronger than `config`
  std::string calib_folder;                ///< samples; empty: what the config says
  SampleSource sample_source;              ///< samples from memory, instead of a folder
  std::string statistics_path;             ///< of calibrate() or merge_statistics(), instead of samples
  int threads = 0;                         ///< 0: the cores that are free
  std::string eval_folder;                 ///< samples to compare the models on; empty: those of the calibration
  std::vector<std::string> requirements;   ///< "cos>=0.99": else the run fails with kQualityGate and writes nothing
  bool verify = true;                      ///< check the written model and compare it with the float one
  bool details = false;                    ///< fill in ReportDetails, which costs a run of the float model
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
  bool resume =
      true;  ///< finetuned layers are kept in "<output>.finetune/" until the output is written, and used again
};

struct Finding {
  bool is_warning = false;
  std::string id, subject, text;
};

/// Agreement of one output of the quantized model with the float one's, over several samples.
struct OutputAgreement {
  std::string name;
  double cosine = 0;         ///< mean over the samples
  double sqnr_db = 0;        ///< signal to quantization noise ratio, all samples as one array
  double min_cosine = 0;     ///< of the worst sample
  std::string worst_sample;  ///< its name
};

/// Agreement of one tensor inside the model, over a few calibration samples. In decibels; infinity is no noise at all.
struct TensorAgreement {
  std::string name;       ///< as in the float model
  std::string node;       ///< its producer: "node conv5 (Conv)"
  double sqnr_db = 0;     ///< as its readers get it
  double written_db = 0;  ///< as its producer writes it, before its own Q/DQ pair
  double inputs_db = 0;   ///< the noisiest input of its producer
  double cosine = 0;      ///< as its readers get it
};

/// A layer that AdaRound or AdaQuant trained.
struct TunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround", "adaquant"
  double error_before = 0, error_after = 0;  ///< mean squared error of the layer on samples not trained with
  bool kept = false;                         ///< the new weights are in the result
  bool resumed = false;                      ///< trained in a run before that was interrupted
  double seconds = 0;
};

/// What the training of layers did to the outputs, on samples not trained with.
struct TunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;  ///< with the float outputs, averaged over samples and outputs
};

/// Agreement with the float model: the worst output, over all samples compared.
struct Agreement {
  double cosine = 0;
  double sqnr_db = 0;
};

/// What was done differently because the outputs had collapsed (docs/guards.md).
struct RescueReport {
  Agreement before, after;                      ///< on the same calibration samples
  size_t samples = 0;                           ///< that they were compared on
  bool channel_scales = false;                  ///< weights have a scale per channel
  std::vector<std::string> tensors_in_16_bits;  ///< activations, by name
  std::vector<std::string> float_nodes;         ///< by their names in the model as loaded
  size_t unnamed_float_nodes = 0;               ///< float nodes without a name, which no setting can mean
  double float_macs = 0;                        ///< their share of all multiply-accumulates, 0 to 1
  std::vector<std::string> settings;            ///< "key=value", for `settings`: a plain run that gives the same
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
};

/// What a person wants to look at, for the HTML report (docs/report.md).
struct ReportDetails {
  std::vector<SettingValue> settings;
  std::vector<TensorAgreement> tensors;    ///< every tensor that both models have, in node order
  std::vector<TensorProfile> profiles;     ///< in the order of the plan
  std::vector<ExplainedTensor> decisions;  ///< what was decided about each tensor, quantized or not
  std::optional<CheckReport> limits;       ///< of the NPU that the preset is for
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
  int64_t input_opset = 0, output_opset = 0;
  std::map<std::string, int> float_ops, quantized_ops;
  std::map<std::string, int> tensors_by_type;  ///< "activation INT8" -> count
  size_t nodes_quantized = 0, nodes_total = 0;
  uint64_t model_bytes = 0, output_bytes = 0;
  bool external_data = false;
  bool nothing_to_quantize = false;  ///< the float model was copied
  std::vector<OutputAgreement> outputs;
  size_t compared_samples = 0;                 ///< that `outputs` are judged on; 0: they were not compared
  std::string compared_folder;                 ///< where those are; empty: among the calibration samples
  std::vector<TensorAgreement> worst_tensors;  ///< the noisiest ones, the noisiest first
  std::vector<TensorAgreement> causes;         ///< where the signal drops, in node order
  std::vector<TunedLayer> tuned_layers;
  std::optional<TunedOutputs> tuned_outputs;  ///< absent without tuned layers and in compat mode
  std::optional<RescueReport> rescue;         ///< absent when nothing was done differently
  std::vector<PassTime> phases;
  std::vector<Finding> findings;
  double seconds = 0;
  std::optional<ReportDetails> details;  ///< when asked for
};

/// Writes the output whole or not at all. Errors name file, node, found and allowed values.
QUARKQ_EXPORT Result<QuantizeReport> quantize(const QuantizeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const QuantizeReport& report);

/// "<stem>_quantized.onnx" beside `model_path`.
QUARKQ_EXPORT std::string default_output_path(const std::string& model_path);

}  // namespace quarkq
