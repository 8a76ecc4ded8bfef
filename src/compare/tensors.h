// SPDX-License-Identifier: MIT
// Float against quantized inside the model: the signal to noise ratio of every tensor that both have, and the layers
// where it drops.
#pragma once

#include <vector>

#include "calib/data_reader.h"
#include "compare/run_models.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::compare {

/// Runs both models on the samples of these numbers with everything tapped; one sample shows where the signal drops.
/// Returns the tensors in the order of the nodes. `calibrated`: the float model as it was calibrated, so that tensors
/// mean the same. `prepare`: applied to copies of both.
Result<std::vector<TensorAgreement>> compare_tensors(const ir::Model& calibrated, const ir::Model& quantized,
                                                     Prepare prepare, const calib::DataReader& data,
                                                     const std::vector<size_t>& samples);

/// All of them, the noisiest first.
std::vector<TensorAgreement> noisiest_first(std::vector<TensorAgreement> tensors);

/// The `count` noisiest ones whose noise affects their readers (not is_masked), the noisiest first.
std::vector<TensorAgreement> worst_tensors(const std::vector<TensorAgreement>& tensors, size_t count);

/// The first tensors (in node order) with much less signal than their inputs.
std::vector<TensorAgreement> find_causes(const std::vector<TensorAgreement>& tensors, size_t count);

/// "conv5 of node 17 (Conv): from 25.0 dB to 3.1 dB, due to the operator or its weights".
std::string describe(const TensorAgreement& tensor);

}  // namespace quarkq::compare
