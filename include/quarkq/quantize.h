// SPDX-License-Identifier: MIT
// quantize(): float ONNX model in, quantized ONNX model out.
//
// Several threads may call functions of this library at the same time. The request specifies everything that a run
// depends on: backend, operators, threads and memory ceiling of one run do not affect other runs, and concurrent runs
// do not change a byte of a result. Each run sets the number of OpenMP threads of the calling thread. A memory ceiling
// applies to the whole process, so concurrent runs share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarkq/quantize_report.h"
#include "quarkq/status.h"

namespace quarkq {

// Tensors that pass between the caller's memory and the library: samples instead of a folder, results instead of files.

/// One tensor of one sample: an input supplied by the caller or an output passed to the caller. The library copies the
/// memory of an input before it calls the callback again. The memory of an output is valid only during the call.
struct SampleTensor {
  std::string name;           ///< Name of the model's input or output; may be empty if the model has one input.
  std::string type;           ///< ONNX name: "FLOAT", "UINT8", "INT64", ...
  std::vector<int64_t> dims;  ///< Dimensions in ONNX order. A missing batch dimension is added.
  const void* data = nullptr;
  size_t bytes = 0;  ///< Size of `data`: number of elements times element size.
};

/// Samples accessed by index. `read` may be called more than once for a sample (guards and comparison read some samples
/// again) but never concurrently. An error returned by `read` ends the run with that error.
struct SampleSource {
  size_t count = 0;
  std::function<Result<std::vector<SampleTensor>>(size_t index)> read = {};

  explicit operator bool() const { return static_cast<bool>(read); }
};

/// A metric of the caller; higher is better. Compares `found`, the outputs of the quantized model for sample number
/// `sample`, with `expected`, the outputs of the float model.
using Metric = std::function<Result<double>(size_t sample, const std::vector<SampleTensor>& expected,
                                            const std::vector<SampleTensor>& found)>;

/// Progress of a run. `total` is 0 if it is unknown.
struct Progress {
  std::string phase;  ///< "load", "calibrate", ...
  size_t done = 0;
  size_t total = 0;
  std::string unit = "samples";  ///< Unit of `done` and `total`.
  size_t number = 0, count = 0;  ///< This is phase `number` of `count`, starting at 1; 0 if there is only one phase.
  std::string detail = {};       ///< The most recent work of this process if it shares a workers folder; otherwise
                                 ///< empty.
  bool is_at_most = false;       ///< The phase may end before `done` reaches `total`.
};

/// Receives the findings collected before an error ended a run. A successful run returns its findings in the report.
using FailureSink = std::function<void(const std::vector<Finding>&)>;

struct QuantizeRequest {
  std::string model_path;                  ///< If `model_bytes` is set, the name of the model in messages.
  std::optional<std::string> model_bytes;  ///< The serialized model including its weights; replaces the file.
  bool requantize = false;                 ///< Accepts a quantized model: removes its Q/DQ nodes and quantizes it
                                           ///< again.
  bool in_memory = false;                  ///< Returns the result in QuantizeReport::model and writes no file.
  std::string output_path;                 ///< Empty: "<stem>_quantized.onnx" in the folder of the model.
  std::string joined_path;                 ///< If the model is cut (legalize.tail), also writes body and tail here as
                                           ///< one model; empty: no such file.
  std::string config;                      ///< A file if it exists, otherwise the name of a preset with or without
                                           ///< ".yaml".
  /// "key=value", or an option of the command line: "--target=x2", "--shape={x: [1]}". Both override `config`, and
  /// "key=value" overrides an option.
  std::vector<std::string> settings;
  std::string calib_folder;     ///< Folder of calibration samples; empty: the folder of the config.
  SampleSource sample_source;   ///< Calibration samples in memory; replaces the folder.
  std::string statistics_path;  ///< File written by calibrate() or merge_statistics(); replaces the samples.
  int threads = 0;              ///< Number of threads; 0: one per free core.
  /// Upper bound on the resident memory of the whole process, in bytes; 0: no bound. Models then run segment by
  /// segment, and values between segments are stored in temporary files (docs/large-models.md). Results do not change
  /// by a byte. A run that needs more memory in spite of this is not rejected.
  int64_t memory_ceiling = 0;
  std::string eval_folder;   ///< Folder of the samples for the comparison; empty: the calibration samples.
  SampleSource eval_source;  ///< Samples for the comparison in memory.
  Metric metric;             ///< Computed on the compared samples; may be empty.
  /// "cos>=0.99" applies to the worst sample, "metric>=0.9" to the mean of `metric`, "deployable" to the target. If a
  /// requirement is missed, the run fails with kQualityGate and writes nothing.
  std::vector<std::string> requirements;
  bool verify = true;                             ///< Check the written model and compare it with the float model.
  bool details = false;                           ///< Fill in ReportDetails; runs the float model once more.
  std::function<bool(const Progress&)> progress;  ///< Returns false to interrupt the run; may be empty.
  FailureSink on_failure;                         ///< May be empty.
  bool resume = true;          ///< Reuse fine-tuned layers from "<output>.finetune/", which is deleted when the output
                               ///< is written.
  std::string workers_folder;  ///< Folder shared by all processes that fine-tune this model together; empty: a single
                               ///< process.
};

/// Quantizes a model. Afterwards the output file is complete or absent. Error messages name the file, the node, the
/// found value and the allowed values.
QUARKQ_EXPORT Result<QuantizeReport> quantize(const QuantizeRequest& request);

/// Returns the report as JSON with keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const QuantizeReport& report);

/// Returns "<stem>_quantized.onnx" in the folder of `model_path`.
QUARKQ_EXPORT std::string default_output_path(const std::string& model_path);

// write_deployment(): files that an inference session on the target needs in addition to the model.

/// Writes into `folder`, which is created if necessary:
/// the compiler's configuration (vitisai_config.json) for targets that read one, names and values for the execution
/// provider (provider_options.json), a session in Python, which runs body and tail of a cut model, as a file of its
/// own, and a page with both and the evidence. The values come from the options of the target (a name or a file,
/// docs/targets.md), the cache key from the content of the model at `model_path`. Returns the written paths. Replaces
/// existing files of these names. Fails with kInvalidArgument for an unknown target and with kIo if a file cannot be
/// read or written.
QUARKQ_EXPORT Result<std::vector<std::string>> write_deployment(const std::string& model_path,
                                                                const std::string& target, const std::string& folder);

// html_report(): the report of a quantization or tuning run as an HTML page.

/// Converts the JSON report at `path`, written by `quarkq quantize --report` or `quarkq tune --report`, to a page
/// without scripts or network access: styles and pictures (SVG) are embedded. Fails with kIo if the file cannot be read
/// and with kBadData if it is not such a report.
QUARKQ_EXPORT Result<std::string> html_report(const std::string& path);

}  // namespace quarkq
