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
#include "compare/tasks.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::compare {

/// Below this cosine, the rewrites of the float model rather than its quantization are the cause.
inline constexpr double kRewrittenCosine = 0.99;

/// Returns `count` evenly spaced numbers below `size`, starting at 0; all numbers if `size` is smaller.
std::vector<size_t> spread_samples(size_t size, size_t count);

/// Returns `count` of `numbers`, drawn by a hash of each number, in ascending order. Fewer are always among more.
/// Evenly spaced samples of a sorted folder can all show the same: one class of each pair.
std::vector<size_t> drawn_samples(const std::vector<size_t>& numbers, size_t count);

/// Which samples of a calibration are used for what. Weights are fitted on odd numbers (planning/round).
struct SampleRoles {
  std::vector<size_t> chosen;  ///< Remedies are chosen on these, at most kMostChosen.
  std::vector<size_t> judged;  ///< Results are judged on these. Others than `chosen` if 16 others are there.
};
inline constexpr size_t kMostChosen = 12;

/// `judged`: upper bound on their number. Both are drawn from the even numbers, or from all if `size` is below 16.
SampleRoles sample_roles(size_t size, size_t judged);

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
  static Result<ExpectedOutputs> make(const ir::Model& reference, Prepare prepare, const ChosenSamples& chosen);

  /// Runs `quantized` on the same samples. Outputs that are not floating point are skipped, and samples in which the
  /// shape of an output differs, with a warning ("shape-changed"). A sample on which both outputs are almost zero has
  /// no meaningful cosine: it is used only if this applies to all samples (near_zero). `seen` receives each output of
  /// each sample; may be empty.
  Result<std::vector<OutputAgreement>> compare(const ir::Model& quantized, Diagnostics& diagnostics,
                                               const SampleResultSink& seen = {}) const;

  /// Returns the outputs of the samples at these positions.
  ExpectedOutputs part(const std::vector<size_t>& places) const;

  size_t sample_count() const { return samples_.size(); }
  /// Returns the position of the sample with this name; 0 if there is none.
  size_t place_of(const std::string& sample) const;
  /// Returns its number in the data; 0 if there is none.
  size_t number_of(const std::string& sample) const { return samples_.empty() ? 0 : numbers_[place_of(sample)]; }

 private:
  struct Output {
    std::string name;
    size_t index = 0;                         ///< Position among the outputs of the model.
    double least_magnitude = 0;               ///< Lower bound of the usual magnitude: 1 for probabilities.
    bool makes_choices = false;               ///< Each row is a choice (compare/output_kinds.h).
    int64_t input_pixels = 0;                 ///< Pixels of the largest picture among the inputs.
    std::vector<double> largest;              ///< Largest magnitude of each sample.
    std::vector<ir::Shape> dims;              ///< Dimensions of each sample.
    std::vector<std::vector<double>> values;  ///< Values of each sample.
    std::optional<MinorChannels> minor = {};  ///< Only if all samples have the same dimensions.
    TaskPtr task = {};                        ///< Unset if no task is recognized.
  };

  Status add(size_t number, calib::Sample sample, const ir::Model& model, const std::vector<ir::Tensor>& results);
  struct Compared;
  Result<Compared> compare_one(size_t sample, size_t index, const ir::Tensor& found, double magnitude) const;
  /// Copies the outputs of the sample at this position.
  void take(const ExpectedOutputs& known, size_t place);
  /// Recognizes channels of small magnitude and tasks.
  void recognize();
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
