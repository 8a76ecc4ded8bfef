// SPDX-License-Identifier: MIT
// Float against quantized outputs on samples: the figures of summaries and gates.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Below this cosine the rewrites of the float model, not its quantization, are what to look at.
inline constexpr double kRewrittenCosine = 0.99;

/// `count` numbers below `size`, at even distances from 0 on; all of them when there are no more.
std::vector<size_t> spread_samples(size_t size, size_t count);

/// The float outputs that quantized ones are compared with.
class ExpectedOutputs {
 public:
  /// Runs `reference` on the first `samples` of the data.
  static Result<ExpectedOutputs> make(const ir::Model& reference, const calib::DataReader& data, size_t samples);
  /// Runs `reference` on the samples of these numbers; on fewer, evenly spread among them, when the outputs of all
  /// would need too much memory.
  static Result<ExpectedOutputs> make(const ir::Model& reference, const calib::DataReader& data,
                                      std::vector<size_t> numbers);

  /// Runs `quantized` on the same. Outputs that are not floating point are left out, and samples in which an output has
  /// another shape, with a warning ("shape-changed").
  Result<std::vector<OutputAgreement>> compare(const ir::Model& quantized, Diagnostics& diagnostics) const;

  size_t sample_count() const { return samples_.size(); }
  /// The number in the data of the sample of this name; 0 when none has it.
  size_t number_of(const std::string& sample) const;

 private:
  struct Output {
    std::string name;
    size_t index = 0;                         ///< among the model's outputs
    std::vector<ir::Shape> dims;              ///< by sample
    std::vector<std::vector<double>> values;  ///< by sample
  };

  Status add(size_t number, calib::Sample sample, const ir::Graph& graph, const std::vector<ir::Tensor>& results);
  size_t bytes() const;

  std::vector<size_t> numbers_;  ///< of the samples, in the data
  std::vector<calib::Sample> samples_;
  std::vector<Output> outputs_;  ///< the floating-point ones
};

}  // namespace quarkq::pipeline
