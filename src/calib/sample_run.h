// SPDX-License-Identifier: MIT
// Runs a model on samples and passes the tapped tensors of each to sinks.
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

/// Returns the stride between kept values: 1 for small tensors. An odd stride reaches all channels if their number is
/// even.
inline size_t thinning_stride(size_t count) {
  constexpr size_t kKept = 8192;  // Bounds memory; ratios in decibels are exact to 0.1.
  return count <= kKept ? 1 : count / kKept | 1;
}

/// Returns all values of small tensors, and an evenly spaced part of others, in order.
inline std::vector<float> thinned(std::span<const float> values) {
  const size_t stride = thinning_stride(values.size());
  std::vector<float> kept;
  for (size_t i = 0; i < values.size(); i += stride) kept.push_back(values[i]);
  return kept;
}

/// All samples of a reader, and the purpose of running them. Errors read "PURPOSE, sample NAME: ...".
struct AllSamples {
  const DataReader& data;
  std::string purpose;
};

/// `results` receives the values fetched by `options`, once per sample, in order. Under a memory ceiling the model runs
/// segment by segment.
Status run_all(const ir::Model& model, const exec::Environment& environment, exec::SessionOptions options,
               const AllSamples& samples,
               const std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>& results);

/// Receives the tapped tensors.
class SampleSink {
 public:
  virtual ~SampleSink() = default;
  /// Receives the values of `tensor` for sample number `sample`, as float32 (values of a float16 tensor are rounded to
  /// float16).
  virtual Status observe(ir::ValueId tensor, uint64_t sample, std::span<const float> values) = 0;
};

/// Order and number of a tensor's values for a sink.
enum class ValueOrder : uint8_t {
  kAny,      ///< In memory order, without cost.
  kOnnx,     ///< Row-major in ONNX dimension order.
  kThinned,  ///< An evenly spaced part (sample_run.h) in that order, with little cost.
};

struct SampleRunOptions {
  std::vector<ir::ValueId> tensors;  ///< Float values to observe.
  std::vector<size_t> samples;       ///< Numbers of the samples to run, ascending; empty: all.
  ValueOrder order = ValueOrder::kAny;
  bool allow_non_finite = false;                      ///< Accept NaN and infinities in the inputs.
  std::shared_ptr<const exec::Backend> backend = {};  ///< Runs the samples; null: quarkq itself.
  /// Called after each sample with the number done; returns false to interrupt.
  std::function<bool(size_t done, size_t total)> progress;
};

class SampleRun {
 public:
  /// `model` and `reader` must outlive the run.
  SampleRun(const ir::Model& model, const DataReader& reader, const exec::Environment& environment,
            SampleRunOptions options);
  ~SampleRun();
  SampleRun(const SampleRun&) = delete;

  /// Returns the name of each sample that was run, by number.
  const std::map<uint64_t, std::string>& sample_names() const { return names_; }
  /// Returns the number of samples to run concurrently. Each uses a part of the threads, which avoids waiting inside
  /// operators, but needs its own program with its weights.
  size_t worthwhile_sinks() const;

  /// Runs one pass over all samples, in order. Fails with kBadData if a sample cannot be read or run, or if there is
  /// none.
  Status pass(SampleSink& sink);
  /// Runs one pass in which several samples run concurrently. Each sample is observed by whichever sink is free.
  Status pass(const std::vector<SampleSink*>& sinks);

 private:
  class Feed;
  class Worker;

  Status backend_pass(SampleSink& sink);

  const ir::Model& model_;
  const DataReader& reader_;
  const exec::Environment environment_;
  SampleRunOptions options_;
  std::unique_ptr<exec::Session> session_;                 ///< Session of in-order passes, reused in later passes.
  std::vector<std::vector<ir::ValueId>> parts_;            ///< The tensors that a backend returns together.
  std::unique_ptr<exec::BackendSession> backend_session_;  ///< Session of the only part, or the last one.
  std::map<uint64_t, std::string> names_;
};

}  // namespace quarkq::calib
