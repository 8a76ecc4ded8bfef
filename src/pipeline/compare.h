// SPDX-License-Identifier: MIT
// Float against quantized outputs on the first calibration samples: the figures of summaries and gates.
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

/// The float outputs that quantized ones are compared with.
class ExpectedOutputs {
 public:
  /// Runs `reference` on the first `samples` of the data.
  static Result<ExpectedOutputs> make(const ir::Model& reference, const calib::DataReader& data, size_t samples);

  /// Runs `quantized` on the same; all samples count as one array. Outputs that are not floating point are left out,
  /// as are those of another shape, with a warning ("shape-changed").
  Result<std::vector<OutputAgreement>> compare(const ir::Model& quantized, Diagnostics& diagnostics) const;

 private:
  struct Output {
    std::string name;
    size_t index = 0;                         ///< among the model's outputs
    std::vector<ir::Shape> dims;              ///< by sample
    std::vector<std::vector<double>> values;  ///< by sample
  };

  std::vector<calib::Sample> samples_;
  std::vector<Output> outputs_;  ///< the floating-point ones
};

}  // namespace quarkq::pipeline
