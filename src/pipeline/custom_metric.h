// SPDX-License-Identifier: MIT
// The caller's own figure (quarkq/samples.h) of a result, and what is required of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/verify.h"

namespace quarkq::pipeline {

/// A tensor as callers see it. The view is valid as long as the tensor is. Fails with kUnsupported for strings.
Result<SampleTensor> view_of(const std::string& name, const ir::Tensor& tensor);
/// The results of a model, by the names of its outputs.
Result<std::vector<SampleTensor>> views_of(const ir::Graph& graph, const std::vector<ir::Tensor>& results);

/// The least value that "metric>=X" texts ask for; nothing without any. Other texts are left to required_cosine().
Result<std::optional<double>> required_metric(const std::vector<std::string>& requirements);

/// Fills in report.metric when the request has one and there are samples. kQualityGate when it is below what is
/// required.
Status judge_by_metric(const QuantizeRequest& request, const ir::Model& original, const ir::Model& quantized,
                       const Judgement& judgement, QuantizeReport& report);

}  // namespace quarkq::pipeline
