// SPDX-License-Identifier: MIT
// quantize(): float ONNX model in, quantized ONNX model out.
//
// Functions of this library may run at the same time on several threads. A run takes everything that it depends on from
// its request: backend, operators, threads and memory ceiling of one run do not affect another, and results have the
// bytes of a run on its own. Each run sets the number of OpenMP threads of the thread that calls it. A ceiling counts
// the memory of the whole process, so runs that share a process share it.
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

/// One tensor of one sample: an input that the caller gives, or an output that it gets. The memory of an input is
/// copied before the callback is called again; that of an output is valid during the call.
struct SampleTensor {
  std::string name;           ///< of the model's input or output; may be empty when the model has one input
  std::string type;           ///< ONNX name: "FLOAT", "UINT8", "INT64", ...
  std::vector<int64_t> dims;  ///< in ONNX order; a missing batch dimension is added
  const void* data = nullptr;
  size_t bytes = 0;  ///< of `data`: elements times the element's size
};

/// Samples by number. `read` may be asked for a sample more than once (the guards and the comparison read some again)
/// and is never called twice at once. An error that it returns ends the run with that error.
struct SampleSource {
  size_t count = 0;
  std::function<Result<std::vector<SampleTensor>>(size_t index)> read = {};

  explicit operator bool() const { return static_cast<bool>(read); }
};

/// A figure of the caller's own, higher is better: how good `found`, the outputs of the quantized model on sample
/// number `sample`, are beside `expected`, those of the float model.
using Metric = std::function<Result<double>(size_t sample, const std::vector<SampleTensor>& expected,
                                            const std::vector<SampleTensor>& found)>;

/// How far a run is. `total` is 0 when it is not known.
struct Progress {
  std::string phase;  ///< "load", "calibrate", ...
  size_t done = 0;
  size_t total = 0;
  std::string unit = "samples";  ///< of `done` and `total`
  size_t number = 0, count = 0;  ///< this is phase `number` of `count`, from 1 on; 0: a single phase
  std::string detail = {};       ///< with a folder of workers: what this one did last; else empty
  bool is_at_most = false;       ///< the phase may end before `total` is reached
};

/// Is given what was found before an error ended a run; a report has it otherwise.
using FailureSink = std::function<void(const std::vector<Finding>&)>;

struct QuantizeRequest {
  std::string model_path;                  ///< when `model_bytes` are given: name of the model in messages
  std::optional<std::string> model_bytes;  ///< the serialized model, instead of the file; weights inside
  bool requantize = false;                 ///< a quantized model: its Q/DQ are removed, and it is quantized anew
  bool in_memory = false;                  ///< the result is returned in QuantizeReport::model, and no file is written
  std::string output_path;                 ///< empty: "<stem>_quantized.onnx" beside the model
  std::string config;                      ///< a file if it exists, else a preset name with or without ".yaml"
  std::vector<std::string> settings;       ///< "key=value", stronger than `config`
  std::string calib_folder;                ///< samples; empty: what the config says
  SampleSource sample_source;              ///< samples from memory, instead of a folder
  std::string statistics_path;             ///< of calibrate() or merge_statistics(), instead of samples
  int threads = 0;                         ///< 0: the cores that are free
  /// Upper bound on the resident memory of the process, in bytes: models run segment by segment, and values that wait
  /// are stored in temporary files (docs/large-models.md). A bound and not a limit: a run that needs more is not
  /// refused. 0: no ceiling.
  int64_t memory_ceiling = 0;
  std::string eval_folder;   ///< samples to compare the models on; empty: those of the calibration
  SampleSource eval_source;  ///< the same from memory
  Metric metric;             ///< computed on the samples that are compared; may be empty
  /// "cos>=0.99" of the worst sample, "metric>=0.9" of the metric's mean: else the run fails with kQualityGate and
  /// writes nothing.
  std::vector<std::string> requirements;
  bool verify = true;    ///< check the written model and compare it with the float one
  bool details = false;  ///< fill in ReportDetails, which takes one more run of the float model
  std::function<bool(const Progress&)> progress;  ///< returns false to interrupt; may be empty
  FailureSink on_failure;                         ///< may be empty
  bool resume = true;          ///< from fine-tuned layers, kept in "<output>.finetune/" until the output is written
  std::string workers_folder;  ///< shared by all processes that fine-tune this model together; empty: one does it all
};

/// The output is complete or absent. Errors name file, node, found and allowed values.
QUARKQ_EXPORT Result<QuantizeReport> quantize(const QuantizeRequest& request);

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const QuantizeReport& report);

/// "<stem>_quantized.onnx" beside `model_path`.
QUARKQ_EXPORT std::string default_output_path(const std::string& model_path);

// write_deployment(): what a session on the target needs beside the model.

/// Writes into `folder`, which is made when it is not there:
/// the compiler's configuration (vitisai_config.json) for targets that read one, names and values for the execution
/// provider (provider_options.json), and a page with the evidence and a session in Python.
/// The values come from the options of the target (a name or a file, docs/targets.md); the cache key from the content
/// of the model at `model_path`. Returns the paths written. Fails with kInvalidArgument for an unknown target, kIo when
/// a file cannot be read or written; existing files of these names are replaced.
QUARKQ_EXPORT Result<std::vector<std::string>> write_deployment(const std::string& model_path,
                                                                const std::string& target, const std::string& folder);

// html_report(): the report of a quantize run, or of tuning, as an HTML page.

/// `path`: what `quarkq quantize --report` or `quarkq tune --report` wrote. The page needs no network and no scripts:
/// style and pictures (SVG) are in it. Fails with kIo when it cannot be read, kBadData when it is not such a report.
QUARKQ_EXPORT Result<std::string> html_report(const std::string& path);

}  // namespace quarkq
