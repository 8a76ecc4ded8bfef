// SPDX-License-Identifier: MIT
// Comparison of float and quantized values inside the model: the signal to noise ratio of every common tensor, and the
// layers where it drops.
#pragma once

#include <vector>

#include "calib/data_reader.h"
#include "compare/run_models.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::compare {

/// Runs both models on the chosen samples with everything tapped; one sample shows where the signal drops.
/// Returns the tensors in the order of the nodes. `calibrated`: the float model as it was calibrated, so that tensors
/// mean the same. `prepare`: applied to copies of both.
Result<std::vector<TensorAgreement>> compare_tensors(const ir::Model& calibrated, const ir::Model& quantized,
                                                     Prepare prepare, const ChosenSamples& samples);

/// Returns all tensors, the noisiest first.
std::vector<TensorAgreement> noisiest_first(std::vector<TensorAgreement> tensors);

/// Returns the `count` noisiest tensors whose noise affects their readers (not is_masked), the noisiest first.
std::vector<TensorAgreement> worst_tensors(const std::vector<TensorAgreement>& tensors, size_t count);

/// Returns the first tensors, in node order, with much less signal than their inputs.
std::vector<TensorAgreement> find_causes(const std::vector<TensorAgreement>& tensors, size_t count);

/// "conv5 of node 17 (Conv): from 25.0 dB to 3.1 dB, due to the operator or its weights".
std::string describe(const TensorAgreement& tensor);

}  // namespace quarkq::compare
