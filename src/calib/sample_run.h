// SPDX-License-Identifier: MIT
// Runs a model over samples and passes the tapped tensors of each to sinks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"

namespace quarkq::calib {

// A part of a tensor's values that stands for all of them.

/// From one value that is kept to the next: 1 for small tensors. An odd stride meets all channels of an even number.
inline size_t thinning_stride(size_t count) {
  constexpr size_t kKept = 8192;  // bounds memory; ratios in decibels are exact to 0.1
  return count <= kKept ? 1 : count / kKept | 1;
}

/// All values of small tensors, of others an even part in order.
inline std::vector<float> thinned(std::span<const float> values) {
  const size_t stride = thinning_stride(values.size());
  std::vector<float> kept;
  for (size_t i = 0; i < values.size(); i += stride) kept.push_back(values[i]);
  return kept;
}

// Runs a model on all samples of a reader, for what is computed from its results one sample after another.

/// The samples of a run and its purpose, which errors name: "PURPOSE, sample NAME: ...".
struct AllSamples {
  const DataReader& data;
  std::string purpose;
};

/// `results` gets what `options` fetches, once for each sample, in order. Under a ceiling on memory the model runs
/// segment by segment.
Status run_all(const ir::Model& model, const exec::Environment& environment, exec::SessionOptions options,
               const AllSamples& samples,
               const std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>& results);

/// Receives the tapped tensors.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  /// Sample number `sample` holds these values in `tensor`: float32 ones (a float16 tensor's are rounded to float16).
  virtual Status observe(ir::ValueId tensor, uint64_t sample, std::span<const float> values) = 0;
};

/// In which order a sink is given a tensor's values, and how many of them.
enum class ValueOrder : uint8_t {
  kAny,      ///< as they lie in memory, which costs nothing
  kOnnx,     ///< row-major in ONNX dimension order
  kThinned,  ///< an even part (sample_run.h) in that order, which costs little
};

struct SampleRunOptions {
  std::vector<ir::ValueId> tensors;  ///< float values to observe
  std::vector<size_t> samples;       ///< numbers of the samples to run, ascending; empty: all
  ValueOrder order = ValueOrder::kAny;
  bool allow_non_finite = false;                      ///< NaN and infinities in the inputs
  std::shared_ptr<const exec::Backend> backend = {};  ///< runs the samples; null: quarkq itself
  /// Called after each sample with the number done; returns false to stop (an interrupt).
  std::function<bool(size_t done, size_t total)> progress;
};

class SampleRun {
 public:
  /// `model` and `reader` must outlive the run.
  SampleRun(const ir::Model& model, const DataReader& reader, const exec::Environment& environment,
            SampleRunOptions options);
  ~SampleRun();
  SampleRun(const SampleRun&) = delete;

  /// The samples that were run: number -> name.
  const std::map<uint64_t, std::string>& sample_names() const { return names_; }
  /// How many samples to run at once: each on a part of the threads, which avoids waiting inside
  /// operators, but a program with its weights for each.
  size_t worthwhile_sinks() const;

  /// One pass over all samples, in order. Fails with kBadData when one cannot be read or run, or there is none.
  Status pass(SampleSink& sink);
  /// One pass in which several samples run at once. Each sample is observed by one of the sinks, whichever is free.
  Status pass(const std::vector<SampleSink*>& sinks);

 private:
  class Feed;
  class Worker;

  Status backend_pass(SampleSink& sink);

  const ir::Model& model_;
  const DataReader& reader_;
  const exec::Environment environment_;
  SampleRunOptions options_;
  std::unique_ptr<exec::Session> session_;                 ///< of in-order passes, reused from pass to pass
  std::vector<std::vector<ir::ValueId>> parts_;            ///< the tensors that a backend returns at once
  std::unique_ptr<exec::BackendSession> backend_session_;  ///< of the only part, or the last one
  std::map<uint64_t, std::string> names_;
};

}  // namespace quarkq::calib
