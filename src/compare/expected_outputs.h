// SPDX-License-Identifier: MIT
// Float against quantized outputs on samples: the figures of summaries and gates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "compare/output_kinds.h"
#include "compare/run_models.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::compare {

/// Below this cosine, the rewrites of the float model rather than its quantization are the cause.
inline constexpr double kRewrittenCosine = 0.99;

/// Returns `count` evenly spaced numbers below `size`, starting at 0; all numbers if `size` is smaller.
std::vector<size_t> spread_samples(size_t size, size_t count);

/// One output of both models on one sample.
struct SampleResult {
  const std::string &sample, &output;
  const ir::Shape& dims;
  const std::vector<double>&expected, &found;
  double cosine = 0;
};
using SampleResultSink = std::function<void(const SampleResult&)>;

/// The float outputs with which quantized outputs are compared.
class ExpectedOutputs {
 public:
  /// Runs `reference` on the first `samples` of the data, which outlives the outputs. `prepare` is applied to a copy of
  /// it, and of each model that it is compared with. Compared models run in the same environment.
  static Result<ExpectedOutputs> make(const ir::Model& reference, Prepare prepare, const exec::Environment& environment,
                                      const calib::DataReader& data, size_t samples);
  /// Runs `reference` on the chosen samples; on fewer, evenly spread among them, when the outputs of all would need too
  /// much memory.
  /// `known`: outputs of the same model on the same data that need no run; may be null.
  static Result<ExpectedOutputs> make(const ir::Model& reference, Prepare prepare, const ChosenSamples& chosen,
                                      const ExpectedOutputs* known = nullptr);

  /// Runs `quantized` on the same samples. Outputs that are not floating point are skipped, and samples in which the
  /// shape of an output differs, with a warning ("shape-changed"). A sample on which both outputs are almost zero has
  /// no meaningful cosine: it is used only if this applies to all samples (near_zero). `seen` receives each output of
  /// each sample; may be empty.
  Result<std::vector<OutputAgreement>> compare(const ir::Model& quantized, Diagnostics& diagnostics,
                                               const SampleResultSink& seen = {}) const;

  /// Returns the outputs of the samples at these positions.
  ExpectedOutputs part(const std::vector<size_t>& places) const;

  size_t sample_count() const { return samples_.size(); }
  /// Returns the number of the sample with this name in the data; 0 if there is none.
  size_t number_of(const std::string& sample) const;

 private:
  struct Output {
    std::string name;
    size_t index = 0;                                    ///< Position among the outputs of the model.
    double least_magnitude = 0;                          ///< Lower bound of the usual magnitude: 1 for probabilities.
    bool makes_choices = false;                          ///< Each row is a choice (compare/output_kinds.h).
    std::vector<double> largest;                         ///< Largest magnitude of each sample.
    std::vector<ir::Shape> dims;                         ///< Dimensions of each sample.
    std::vector<std::vector<double>> values;             ///< Values of each sample.
    std::optional<MinorChannels> minor = {};             ///< Only if all samples have the same dimensions.
    std::vector<std::vector<double>> minor_values = {};  ///< Their values of each sample.
  };

  Status add(size_t number, calib::Sample sample, const ir::Model& model, const std::vector<ir::Tensor>& results);
  struct Compared;
  Result<Compared> compare_one(size_t sample, size_t index, const ir::Tensor& found, double magnitude) const;
  bool has(size_t number) const;
  /// Copies the outputs of this sample from `known`; returns false if it has none.
  bool take(const ExpectedOutputs& known, size_t number);
  void find_minor();
  size_t bytes() const;
  /// Returns the inputs of one sample; reads them again if they are too large to be kept.
  Result<std::vector<ir::Tensor>> inputs(size_t place) const;
  void keep_sample(size_t number, calib::Sample sample);
  /// Returns the median over the samples of the output's largest value, which one outlier does not change.
  double usual_magnitude(const Output& output) const;

  exec::Environment environment_;
  const calib::DataReader* data_ = nullptr;
  Prepare prepare_ = nullptr;
  std::vector<size_t> numbers_;         ///< Numbers of the samples in the data.
  std::vector<calib::Sample> samples_;  ///< Samples; their inputs only up to kMostInputBytes.
  int64_t input_bytes_ = 0;             ///< Size of the inputs that are kept.
  std::vector<Output> outputs_;         ///< Floating-point outputs.
};

/// Returns the worst output. A value that is not a number is the worst. kUnsupported without an output to compare.
Result<Agreement> worst_agreement(const std::vector<OutputAgreement>& outputs);

}  // namespace quarkq::compare
