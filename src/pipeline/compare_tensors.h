// SPDX-License-Identifier: MIT
// Float against quantized inside the model: the signal to noise ratio of every tensor that both have, and the layers
// where it drops.
#pragma once

#include <vector>

#include "calib/data_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// The samples of these numbers, and the environment to run models on them in.
struct ChosenSamples {
  const calib::DataReader& data;
  const exec::Environment& environment;
  std::vector<size_t> numbers;
};

/// `prepared` is the float model as it was calibrated, so that tensors mean the same. Runs both on the samples with
/// everything tapped; one sample shows where the signal drops. In the order of the nodes.
Result<std::vector<TensorAgreement>> compare_tensors(const ir::Model& prepared, const ir::Model& quantized,
                                                     const ChosenSamples& samples);

/// All of them, the noisiest first.
std::vector<TensorAgreement> noisiest_first(std::vector<TensorAgreement> tensors);

/// The `count` noisiest ones whose noise affects their readers (not is_masked), the noisiest first.
std::vector<TensorAgreement> worst_tensors(const std::vector<TensorAgreement>& tensors, size_t count);

/// The first tensors (in node order) with much less signal than their inputs.
std::vector<TensorAgreement> find_causes(const std::vector<TensorAgreement>& tensors, size_t count);

/// "conv5 of node 17 (Conv): from 25.0 dB to 3.1 dB, due to the operator or its weights".
std::string describe(const TensorAgreement& tensor);

}  // namespace quarkq::pipeline
