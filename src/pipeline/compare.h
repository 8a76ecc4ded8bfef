// SPDX-License-Identifier: MIT
// Float against quantized outputs on samples: the figures of summaries and gates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "pipeline/output_kinds.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Below this cosine the rewrites of the float model, not its quantization, are the cause to look for.
inline constexpr double kRewrittenCosine = 0.99;

/// `count` evenly spaced numbers below `size`, from 0; all numbers when `size` is smaller.
std::vector<size_t> spread_samples(size_t size, size_t count);

/// One output of both models on one sample.
struct SampleResult {
  const std::string &sample, &output;
  const ir::Shape& dims;
  const std::vector<double>&expected, &found;
  double cosine = 0;
};
using SampleResultSink = std::function<void(const SampleResult&)>;

/// The float outputs that quantized ones are compared with.
class ExpectedOutputs {
 public:
  /// Runs `reference` on the first `samples` of the data, which outlives the outputs.
  static Result<ExpectedOutputs> make(const ir::Model& reference, const exec::Environment& environment,
                                      const calib::DataReader& data, size_t samples);
  /// Runs `reference` on the samples of these numbers; on fewer, evenly spread among them, when the outputs of all
  /// would need too much memory.
  /// `known`: outputs of the same model on the same data that need no run; may be null.
  static Result<ExpectedOutputs> make(const ir::Model& reference, const exec::Environment& environment,
                                      const calib::DataReader& data, std::vector<size_t> numbers,
                                      const ExpectedOutputs* known = nullptr);

  /// Runs `quantized` on the same. Outputs that are not floating point are left out, and samples in which an output has
  /// another shape, with a warning ("shape-changed"). A sample on which the float output is almost zero and the other
  /// one, too, has no meaningful cosine: it is used only when this holds for all samples (near_zero).
  /// `seen` receives each output of each sample; may be empty.
  Result<std::vector<OutputAgreement>> compare(const ir::Model& quantized, Diagnostics& diagnostics,
                                               const SampleResultSink& seen = {}) const;

  /// Those of the samples at these places alone.
  ExpectedOutputs part(const std::vector<size_t>& places) const;

  size_t sample_count() const { return samples_.size(); }
  /// The number in the data of the sample of this name; 0 when none has it.
  size_t number_of(const std::string& sample) const;

 private:
  struct Output {
    std::string name;
    size_t index = 0;                                    ///< among the model's outputs
    double least_magnitude = 0;                          ///< 1 for probabilities
    bool makes_choices = false;                          ///< pipeline/output_kinds.h
    std::vector<double> largest;                         ///< magnitude, by sample
    std::vector<ir::Shape> dims;                         ///< by sample
    std::vector<std::vector<double>> values;             ///< by sample
    std::optional<MinorChannels> minor = {};             ///< where all samples have the same dimensions
    std::vector<std::vector<double>> minor_values = {};  ///< by sample
  };

  Status add(size_t number, calib::Sample sample, const ir::Model& model, const std::vector<ir::Tensor>& results);
  struct Compared;
  Result<Compared> compare_one(size_t sample, size_t index, const ir::Tensor& found, double magnitude) const;
  bool has(size_t number) const;
  /// Adds what `known` has of this sample; false when it has nothing.
  bool take(const ExpectedOutputs& known, size_t number);
  void find_minor();
  size_t bytes() const;
  /// Of one sample, read again where they are too large to be kept.
  Result<std::vector<ir::Tensor>> inputs(size_t place) const;
  void keep_sample(size_t number, calib::Sample sample);
  /// Of the values of an output: the median of the largest ones of the samples, which one outlier does not move.
  double usual_magnitude(const Output& output) const;

  exec::Environment environment_;
  const calib::DataReader* data_ = nullptr;
  std::vector<size_t> numbers_;         ///< of the samples, in the data
  std::vector<calib::Sample> samples_;  ///< without inputs beyond kMostInputBytes
  int64_t input_bytes_ = 0;             ///< of those that are kept
  std::vector<Output> outputs_;         ///< the floating-point ones
};

}  // namespace quarkq::pipeline
