// SPDX-License-Identifier: MIT
// Comparison of float and quantized values inside the model: the signal to noise ratio of every common tensor, and the
// layers where it drops.
#pragma once

#include <vector>

#include "calib/data_reader.h"
#include "ir/graph.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Runs both models on the samples with these numbers and observes all tensors; one sample is sufficient to find where
/// the signal drops. `prepared` is the float model as calibrated, so that tensors have the same meaning. Returns
/// tensors in node order.
Result<std::vector<TensorAgreement>> compare_tensors(const ir::Model& prepared, const ir::Model& quantized,
                                                     const calib::DataReader& data, const std::vector<size_t>& samples);

/// Returns all tensors, the noisiest first.
std::vector<TensorAgreement> noisiest_first(std::vector<TensorAgreement> tensors);

/// Returns the `count` noisiest tensors whose noise affects their readers (not is_masked), the noisiest first.
std::vector<TensorAgreement> worst_tensors(const std::vector<TensorAgreement>& tensors, size_t count);

/// Returns the first tensors, in node order, with much less signal than their inputs.
std::vector<TensorAgreement> find_causes(const std::vector<TensorAgreement>& tensors, size_t count);

/// "conv5 of node 17 (Conv): from 25.0 dB to 3.1 dB, due to the operator or its weights".
std::string describe(const TensorAgreement& tensor);

}  // namespace quarkq::pipeline
